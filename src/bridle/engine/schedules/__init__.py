"""Prompts that come by themselves."""
