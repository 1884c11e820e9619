"""Engines: what decides when and where a turn runs."""
