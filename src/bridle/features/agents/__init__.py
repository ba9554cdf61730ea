"""Agents: conversations that work for another one, driven by the same loop."""
