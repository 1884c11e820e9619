"""What is installed: found and read without importing any of it."""
