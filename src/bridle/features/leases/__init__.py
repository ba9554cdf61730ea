"""Files, ports and git that one thread has for itself, so that agents do not get in each other's way."""
