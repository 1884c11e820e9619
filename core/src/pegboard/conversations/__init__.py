"""Conversations: their keys, and what was said in them."""
