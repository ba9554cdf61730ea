"""Search over every conversation on this machine, also those of other agents."""
