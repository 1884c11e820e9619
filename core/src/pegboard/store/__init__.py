"""Where the host keeps what must not be lost."""
