"""Puts the parts of a session together from flags, variables and settings."""
