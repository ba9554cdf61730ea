"""Prompts that a session schedules for later."""
