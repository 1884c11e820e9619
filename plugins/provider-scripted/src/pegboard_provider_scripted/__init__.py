"""A provider that answers from a file."""
