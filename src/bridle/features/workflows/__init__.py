"""Workflow runs: scripts that put many agents to work, and what is kept of them."""
