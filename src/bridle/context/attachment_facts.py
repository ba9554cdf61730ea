"""What an attachment row says besides its text, in the fields that Claude Code uses.

A program that resumes the conversation learns from them what was announced already: agents, skills, tools.
"""

from typing import Any

from bridle.types.block import TextBlock

_KINDS = {
    "# Environment": "environment",
    "# Git": "session_context",
    "# Instructions": "instructions",
    "# Skills": "skill_listing",
    "# Agent types": "agent_listing_delta",
    "# More tools": "deferred_tools_delta",
    "Tools that ToolSearch can load:": "deferred_tools_delta",
    "# Plan mode": "plan_mode",
    "# Plan mode has ended": "plan_mode_exit",
}
"""The types that Claude Code uses, by the headings of ours; a reminder of any other has a common type."""
_NO_TOOLS = (
    "removedNames", "wireHiddenNames", "readdedNames",
    "pendingMcpServers", "needsAuthMcpServers", "failedMcpServers",
)  # fmt: skip
_BUILT_IN = frozenset(("general-purpose", "Explore", "Plan", "claude-code-guide", "verification"))


def attachment_of(block: TextBlock, *, initial: bool = False) -> tuple[str, dict[str, Any]]:
    """The type of attachment under which a reminder is kept, and its fields."""
    heading, _, body = _plain(block["text"]).partition("\n")
    kind = _KINDS.get(heading.split(" (")[0], "critical_system_reminder")
    facts: dict[str, Any] = {"isInitial": True} if initial else {}
    match kind:
        case "session_context":
            facts["context"] = {"gitStatus": body}
        case "instructions":
            facts["files"] = _files(body)
        case "skill_listing":
            lines = _items(body)
            names = [_name(line) for line in lines]
            facts |= {"content": "\n".join(lines), "skillCount": len(names), "names": names}
        case "agent_listing_delta":
            facts |= _agents(_items(body))
        case "deferred_tools_delta":
            names = [line for line in body.splitlines() if line.strip() and " " not in line]
            nothing = dict.fromkeys(_NO_TOOLS, ())
            facts |= {"addedNames": names, "addedLines": names, **nothing}
        case "critical_system_reminder":
            facts["content"] = f"{heading}\n{body}".strip()
        case _:
            pass
    return kind, facts


def _plain(text: str) -> str:
    return text.removeprefix("<system-reminder>").removesuffix("</system-reminder>").strip()


def _items(body: str) -> list[str]:
    return [line for line in body.splitlines() if line.startswith("- ")]


def _name(line: str) -> str:
    """The name in a line such as `- name: what it is for`; names of plugins have a colon in them."""
    return line.removeprefix("- ").partition(": ")[0]


def _agents(lines: list[str]) -> dict[str, Any]:
    names = [_name(line) for line in lines]
    return {
        "addedTypes": names,
        "addedLines": lines,
        "builtInTypes": [name for name in names if name in _BUILT_IN],
        "builtInPluginTypes": (),
        "removedTypes": (),
        "showConcurrencyNote": False,
    }


def _files(body: str) -> list[dict[str, str]]:
    """The files below their headings `## path (Kind: …)`."""
    found: list[dict[str, str]] = []
    for part in f"\n{body}".split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        path, _, rest = heading.rpartition(" (")
        kind = rest.partition(":")[0]
        found.append({"path": path, "type": kind, "content": text.strip()})
    return found
