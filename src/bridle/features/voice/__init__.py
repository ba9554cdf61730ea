"""Dictation: what the user says becomes text in the prompt."""
