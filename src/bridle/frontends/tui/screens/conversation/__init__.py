"""Screens that show conversations: transcript, resume, rewind, export."""
