"""Fetching: the host asks the server, the sandbox takes in what it sent."""
