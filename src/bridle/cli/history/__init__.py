"""Subcommands about what a conversation did."""
