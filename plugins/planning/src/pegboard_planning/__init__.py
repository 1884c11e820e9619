"""A list of the work of a conversation."""
