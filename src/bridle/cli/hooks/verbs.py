"""`bridle hooks`: see which hooks there are, try them, and find those that cannot work."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.hooks.scene import Scene, describe, look, read_object, short
from bridle.cli.say import say, tell
from bridle.hooks.table import Entry, Table
from bridle.types.errors import UsageError
from bridle.types.hook import EVENTS
from bridle.types.hook_calls import ToolEvent

_HELP = """\
Usage: bridle hooks list [--json] [--event <Event>] [--tool <Tool>] [--input <json>]
           every hook: where it is written, what it runs, and whether it counts; with a tool and the
           input of a call, those that would be called for it
       bridle hooks test <Event> [--tool <Tool>] [--input <json>] [--hook <number>]
           run the hooks of an event on a sample and show what they say; nothing else is done
       bridle hooks lint
           hooks that can never be called or cannot start; exit code 1 if there are any
       bridle hooks approve [-y] [folder]
           see what is new or has changed in a trusted folder, and let it count; the same as bridle trust

The numbers of hooks are those that list shows. --input gives fields of the event, such as
{"tool_input": {"command": "rm -rf build"}}; fields that it leaves out are sample values.
"""
_OPTIONS = {
    "list": ("json", "event", "tool", "input"),
    "test": ("tool", "input", "hook"),
    "lint": (),
}
_SWITCHES = ("json",)


def run_hooks(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one subcommand.

    Raises:
        UsageError: the words are off.
    """
    if argv[:1] == ["approve"] or argv[:1] == ("approve",):
        from bridle.cli.verbs.trust import run_trust

        return run_trust(argv[1:], env)
    words, options = _read(argv)
    match words:
        case [] | ["help"]:
            return say(_HELP)
        case ["list"]:
            return _list(look(env), options)
        case ["test", event]:
            from bridle.cli.hooks.trial import run_trial

            return run_trial(look(env), event, options)
        case ["lint"]:
            return _lint(look(env))
        case ["test"]:
            raise UsageError("'bridle hooks test' needs an event, such as PreToolUse")
        case _:
            raise UsageError(f"cannot understand 'bridle hooks {' '.join(words)}': see bridle hooks help")


def _read(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    words: list[str] = []
    options: dict[str, str] = {}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            return ["help"], {}
        if not word.startswith("--"):
            words.append(word)
            continue
        name, given, value = word[2:].partition("=")
        if name not in _OPTIONS.get(words[0] if words else "", ()):
            raise UsageError(f"unknown option '{word}': see bridle hooks help")
        if not given and name not in _SWITCHES:
            if not rest:
                raise UsageError(f"--{name} needs a value")
            value = rest.pop(0)
        options[name] = value
    return words, options


def _list(scene: Scene, options: Mapping[str, str]) -> int:
    if (event := options.get("event")) is not None and event not in EVENTS:
        raise UsageError(f"there is no hook event '{event}': use one of {', '.join(sorted(EVENTS))}")
    tool, input = options.get("tool"), read_object(options.get("input"), "--input")
    rows = [
        (number, entry)
        for number, entry in enumerate(scene.table.entries, 1)
        if event in (None, entry.event) and _concerns(entry, tool) and _holds(scene, entry, tool, input)
    ]
    if "json" in options:
        told = [_as_json(number, entry, scene.table) for number, entry in rows]
        return say(msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n")
    shown = [line for number, entry in rows for line in _as_text(number, entry, scene.table)]
    return tell(*(shown or ["no hooks"]))


def _concerns(entry: Entry, tool: str | None) -> bool:
    if tool is None:
        return True
    event = EVENTS.get(entry.event)
    return event is not None and issubclass(event, ToolEvent) and entry.matcher.matches(tool)


def _holds(scene: Scene, entry: Entry, tool: str | None, input: Mapping[str, Any] | None) -> bool:
    """Whether the condition of a hook, if it has one, holds for a call."""
    rule = entry.hook.condition
    if tool is None or input is None or rule is None:
        return True
    return scene.holds(rule, tool, input.get("tool_input", input))


def _as_json(number: int, entry: Entry, table: Table) -> dict[str, Any]:
    objection = table.policy.objection(entry)
    return {
        "number": number,
        "event": entry.event,
        "matcher": entry.matcher_text,
        "kind": entry.kind,
        "runs": describe(entry.hook),
        "if": entry.hook.condition,
        "timeout": entry.hook.timeout,
        "source": entry.origin.source,
        "file": entry.origin.file,
        "line": entry.origin.line,
        "key": entry.origin.key,
        "counts": objection is None,
        "why_not": objection,
    }


def _as_text(number: int, entry: Entry, table: Table) -> list[str]:
    place = entry.origin.file if entry.origin.line is None else f"{entry.origin.file}:{entry.origin.line}"
    matched = f" on {entry.matcher_text}" if not entry.matcher.everything else ""
    condition = f" if {entry.hook.condition}" if entry.hook.condition else ""
    objection = table.policy.objection(entry)
    return [
        f"{number:>3}  {entry.event}{matched}{condition}",
        f"     {entry.kind}: {short(describe(entry.hook))}",
        f"     {entry.origin.source}  {place}",
        *([] if objection is None else [f"     does not count: {objection}"]),
    ]


def _lint(scene: Scene) -> int:
    from bridle.commands.facts.hook_faults import find_faults

    wrong = [
        problem for problem in scene.config.problems if problem.broken or problem.key.startswith("hooks")
    ]
    faults = [*wrong, *find_faults(scene.table, scene.limits, cwd=scene.cwd, env=scene.env)]
    if not faults:
        return say(f"{len(scene.table.entries)} hook(s), nothing wrong\n")
    tell(*map(str, faults))
    return 1
