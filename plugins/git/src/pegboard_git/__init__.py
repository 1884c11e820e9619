"""Tools that read and change git repositories, in the sandbox of the run."""
