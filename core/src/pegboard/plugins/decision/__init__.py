"""The state of every plugin, their order and their names: pure functions, and boot."""
