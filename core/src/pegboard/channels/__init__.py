"""What every channel's delivery shares."""
