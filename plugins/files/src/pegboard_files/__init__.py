"""Tools for files: read, write, edit, list, find by name, search by content."""
