"""Tools: the registry, the one dispatch path, and everything on it."""
