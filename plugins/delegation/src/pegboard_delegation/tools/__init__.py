"""The tools, a file each."""
