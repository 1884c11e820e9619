"""The tool by which the agent shows and changes which model it asks."""
