"""The built-in planner: answers without a key, a network or a language model."""

from bridle.providers.offline.provider import OfflineProvider

__all__ = ["OfflineProvider"]
