"""What variables say that models behind the short names can do, for services whose names tell nothing."""

from collections.abc import Mapping
from typing import Any

_FAMILIES = ("FABLE", "OPUS", "SONNET", "HAIKU")
_VARIABLES = ("ANTHROPIC_CUSTOM_MODEL_OPTION", *(f"ANTHROPIC_DEFAULT_{name}_MODEL" for name in _FAMILIES))
_SUFFIX = "_SUPPORTED_CAPABILITIES"


def declared(env: Mapping[str, str]) -> dict[str, Any]:
    """Entries like those of `bridleModels`, one for each model that a variable tells of."""
    found: dict[str, Any] = {}
    for variable in _VARIABLES:
        name, listed = env.get(variable, "").strip(), env.get(variable + _SUFFIX, "")
        if name and listed:
            found[name] = _entry({word.strip().lower() for word in listed.split(",")})
    return found


def _entry(able: set[str]) -> dict[str, Any]:
    efforts = ["low", "medium", "high"] if able & {"effort", "xhigh_effort", "max_effort"} else []
    efforts += ["xhigh"] if "xhigh_effort" in able else []
    efforts += ["max"] if "max_effort" in able else []
    thinking = "adaptive" if "adaptive_thinking" in able else "budget" if "thinking" in able else "none"
    return {"efforts": efforts, "thinking": thinking}
