"""A provider that runs a model on this machine."""
