"""Auto mode: a model reviews calls that no rule covers."""
