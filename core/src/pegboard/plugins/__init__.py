"""The plugin machinery: found by metadata, decided by pure functions, imported at first use."""
