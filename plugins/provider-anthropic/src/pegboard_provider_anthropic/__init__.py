"""Provider for Anthropic's Messages."""
