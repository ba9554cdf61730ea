"""Tools for tabs of the user's browser."""
