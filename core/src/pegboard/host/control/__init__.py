"""The control socket: how commands act through the host that owns the store."""
