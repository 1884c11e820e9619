"""What `git_write` does, an action each."""
