"""What `git_read` does, an action each."""
