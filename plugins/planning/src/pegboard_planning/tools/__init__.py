"""The tools: one list of work, by the names that families of models know."""
