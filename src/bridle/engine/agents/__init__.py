"""Agents: conversations that work for another one, driven by the same loop."""

from bridle.engine.agents.staff import Agents, Staff

__all__ = ["Agents", "Staff"]
