"""Fleets: many sessions for many tasks, on the processes of this machine or on a Ray cluster."""
