"""Control requests of host programs and their handlers."""
