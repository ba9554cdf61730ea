"""What is kept beside the transcript of an agent."""

from typing import Any

import msgspec

_LARGEST_FACTS = 1_000_000


def agent_facts(path: str) -> dict[str, Any] | None:
    """What is kept beside the transcript of an agent: who started it and as what; None where that is lost."""
    try:
        with open(path.removesuffix(".jsonl") + ".meta.json", "rb") as file:
            facts = msgspec.json.decode(file.read(_LARGEST_FACTS))
    except (OSError, msgspec.DecodeError):
        return None
    return facts if isinstance(facts, dict) else None
