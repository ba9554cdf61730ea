"""Subcommands as values: what they take, their help, and the scripts that complete them."""
