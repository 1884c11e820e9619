"""The tool by which the agent asks its owner for a further folder."""
