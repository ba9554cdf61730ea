"""Agents that know each other: mail between them, what they share, and who leads."""
