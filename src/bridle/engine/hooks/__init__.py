"""The hooks of a session: when they run, and what their answers change."""
