"""What the host does with every provider's stream: laws, retries, failover, pairing of results."""
