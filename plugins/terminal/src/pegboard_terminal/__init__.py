"""The terminal as a channel of Pegboard: `pegboard ask` and `pegboard chat`."""
