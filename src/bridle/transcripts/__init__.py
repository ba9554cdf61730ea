"""The conversation in memory and on disk."""
