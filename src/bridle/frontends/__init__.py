"""Channels that show a turn to somebody."""
