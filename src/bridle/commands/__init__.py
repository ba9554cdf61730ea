"""Slash commands: one registry for the terminal, print mode and host programs."""
