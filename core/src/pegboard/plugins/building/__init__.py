"""From a declaration in code to its manifest."""
