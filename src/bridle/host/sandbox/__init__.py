"""Kernel-held confinement of commands."""
