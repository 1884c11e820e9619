"""Providers for OpenAI and for servers that speak its Chat Completions."""
