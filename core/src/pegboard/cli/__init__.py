"""The `pegboard` command: one file a command, each imported when it is used.

Nothing here is imported by another room. `main` is the entry point.
"""
