"""The resident host: it owns the store, runs every channel, and stays until it is told to stop."""
