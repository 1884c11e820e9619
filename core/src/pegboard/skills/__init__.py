"""Skills kept as folders of text."""
