"""Subcommands that need one module each."""
