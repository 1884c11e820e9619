"""The sandbox on another machine, over SSH."""
