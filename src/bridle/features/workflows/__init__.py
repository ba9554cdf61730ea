"""Workflow runs: scripts that run many agents, and their files."""
