"""Plugins at work: imported once, held, asked, stopped."""
