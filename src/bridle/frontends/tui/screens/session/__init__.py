"""Screens about the state of the session: context, costs, settings, tasks."""
