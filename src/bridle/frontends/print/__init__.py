"""Print mode: text, JSON, JSON lines and verbose output."""
