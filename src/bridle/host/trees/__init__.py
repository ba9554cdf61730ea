"""Folders as trees: how they stand, and what changes in them."""
