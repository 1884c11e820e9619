"""Conversations: their keys, their order, and what was said in them."""
