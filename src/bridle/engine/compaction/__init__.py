"""Keeps a conversation inside the context window of its model."""
