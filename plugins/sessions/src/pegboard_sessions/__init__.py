"""Tools for the caller's own conversations."""
