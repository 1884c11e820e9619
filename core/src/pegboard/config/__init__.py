"""Settings: where files are, how they are read, checked, edited, and where secrets are kept."""
