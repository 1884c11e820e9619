"""A responder for Pegboard that needs no model, no key and no network."""
