"""The machine's side of a hub: it connects out, runs sessions, and keeps its own rules."""
