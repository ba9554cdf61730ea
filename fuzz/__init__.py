"""Looks for ways around the gate: commands are made and decided, and the allowed ones run among canaries."""
