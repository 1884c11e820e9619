"""The tool that runs Bash source in the sandbox."""
