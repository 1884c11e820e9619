"""One inbound message through to its delivered reply."""
