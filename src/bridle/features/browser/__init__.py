"""Tabs of the user's browser for the model."""
