"""Auto mode: a model reviews what a person would be asked about."""
