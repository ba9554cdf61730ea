"""The configured hooks as a menu would list them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from bridle.config.sources import Layer
from bridle.hooks.table import Entry, Table, from_layers
from bridle.types.hooks.events import EVENTS
from bridle.types.text import printable

_CONTENT = {"command": "Command", "prompt": "Prompt", "agent": "Prompt", "http": "URL", "mcp_tool": "Tool"}
_LONGEST = 500


def listing(layers: Sequence[Layer], *, trusted: bool, plugins: Sequence[Table] = ()) -> dict[str, Any]:
    """Every hook of the settings and of plugins, with why some do not run."""
    table = from_layers(layers, trusted=trusted)
    order = {name: place for place, name in enumerate(EVENTS)}
    every = (*table.entries, *(entry for other in plugins for entry in other.entries))
    entries = sorted(every, key=lambda entry: order.get(entry.event, len(order)))
    named = list(dict.fromkeys(entry.event for entry in entries))
    policy = table.policy
    return {
        "events": [
            {**_event(name), "hookCount": sum(entry.event == name for entry in entries)} for name in named
        ],
        "hooks": [_row(entry, table) for entry in entries],
        "eventCatalog": [_event(name) for name in EVENTS],
        "policy": {
            "disabledByPolicy": policy.disabled == "by management",
            "managedOnly": policy.managed_only,
            "pluginOnly": policy.plugins_only,
            "allDisabled": policy.disabled != "no",
            "policyHookCount": sum(entry.origin.source == "policySettings" for entry in entries),
        },
    }


def _event(name: str) -> dict[str, Any]:
    event = EVENTS.get(name)
    summary = (event.__doc__ or "").partition("\n")[0] if event is not None else ""
    return {
        "name": name,
        "summary": summary,
        "supportsMatcher": event is not None and event.matched_on is not None,
    }


def _row(entry: Entry, table: Table) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(entry.hook)
    content = next((str(fields[key]) for key in ("command", "prompt", "url", "tool") if fields.get(key)), "")
    shown = _visible(content)
    row: dict[str, Any] = {
        "event": entry.event,
        "matcher": _visible(entry.matcher_text or ""),
        "source": "pluginHook" if entry.origin.source == "plugin" else entry.origin.source,
        "sourceLabel": entry.origin.file or entry.origin.source,
        **({"pluginName": entry.origin.owner} if entry.origin.source == "plugin" else {}),
        "type": entry.kind,
        "displayText": _visible(entry.hook.status_message or content),
        "commandText": shown,
        "contentLabel": _CONTENT.get(entry.kind, "Command"),
    }
    if entry.hook.condition is not None:
        row["condition"] = _visible(entry.hook.condition)
    if entry.hook.timeout is not None:
        row["timeout"] = entry.hook.timeout
    if table.policy.objection(entry) is not None:
        row["disabled"] = True
    return row


def _visible(text: str) -> str:
    """One line without characters that could hide what it says."""
    return printable(text)[:_LONGEST]
