"""Which variables turn telemetry on, and what may be in it; imports nothing of OpenTelemetry."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bridle.types.variables import is_off, is_on, whole_number

Signal = Literal["metrics", "logs", "traces"]
Kind = Literal["otlp", "console"]

SIGNALS: tuple[Signal, ...] = ("metrics", "logs", "traces")
_OPT_OUTS = ("DISABLE_TELEMETRY", "DO_NOT_TRACK")
"""Any value of these counts, also 0."""
_LONGEST_CONTENT = 61_440


class Switches(Struct, frozen=True, kw_only=True):
    """What the variables of a session ask for."""

    exporters: Mapping[Signal, tuple[Kind, ...]]
    unknown: tuple[str, ...] = ()
    """Exporters that bridle does not have."""
    prompts: bool = False
    responses: bool = False
    tool_details: bool = False
    tool_content: bool = False
    raw_bodies: str = ""
    """Empty, `1`, or a folder."""
    longest: int = _LONGEST_CONTENT
    """Characters of one value."""


def wanted(env: Mapping[str, str]) -> bool:
    """Whether the user has asked for telemetry and has not opted out anywhere."""
    if not is_on(env, "CLAUDE_CODE_ENABLE_TELEMETRY"):
        return False
    if any(env.get(name, "").strip() for name in _OPT_OUTS) or is_on(env, "OTEL_SDK_DISABLED"):
        return False
    return not is_on(env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")


def read_switches(env: Mapping[str, str]) -> Switches:
    """What is exported where, and which contents are part of it."""
    exporters: dict[Signal, tuple[Kind, ...]] = {}
    unknown: list[str] = []
    for signal in SIGNALS:
        kinds: list[Kind] = []
        for name in env.get(f"OTEL_{signal.upper()}_EXPORTER", "").split(","):
            match name.strip().lower():
                case "otlp" | "console" as kind:
                    kinds.append(kind)
                case "" | "none":
                    pass
                case other:
                    unknown.append(other)
        if kinds and not (signal == "traces" and _refuses_traces(env)):
            exporters[signal] = tuple(dict.fromkeys(kinds))
    prompts = is_on(env, "OTEL_LOG_USER_PROMPTS")
    answers = is_on(env, "OTEL_LOG_ASSISTANT_RESPONSES")
    return Switches(
        exporters=exporters,
        unknown=tuple(dict.fromkeys(unknown)),
        prompts=prompts,
        responses=answers or (prompts and not is_off(env, "OTEL_LOG_ASSISTANT_RESPONSES")),
        tool_details=is_on(env, "OTEL_LOG_TOOL_DETAILS"),
        tool_content=is_on(env, "OTEL_LOG_TOOL_CONTENT"),
        raw_bodies=_raw_bodies(env),
        longest=_longest(env),
    )


def _refuses_traces(env: Mapping[str, str]) -> bool:
    names = ("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "ENABLE_ENHANCED_TELEMETRY_BETA")
    return any(is_off(env, name) for name in names)


def _raw_bodies(env: Mapping[str, str]) -> str:
    value = env.get("OTEL_LOG_RAW_API_BODIES", "").strip()
    if value.startswith("file:"):
        return value.removeprefix("file:")
    return "1" if is_on(env, "OTEL_LOG_RAW_API_BODIES") else ""


def _longest(env: Mapping[str, str]) -> int:
    given = (
        whole_number(env, "CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH") or _LONGEST_CONTENT,
        whole_number(env, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT") or _LONGEST_CONTENT,
    )
    return min(given)
