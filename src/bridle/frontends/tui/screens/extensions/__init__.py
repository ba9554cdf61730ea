"""Screens about what extends a session: servers, agents, hooks, skills, plugins."""
