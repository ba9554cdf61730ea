"""What opens over the conversation: lists, pictures and panels, each a function of its data and the keys."""
