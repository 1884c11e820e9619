"""The bounded agent loop, its guard against repetition, and the prompt it starts from."""
