"""Tools for the commands that the operator names."""
