"""The sandbox of this machine itself: path grants for files, and honesty about commands."""
