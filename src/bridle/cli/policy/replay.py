"""`bridle policy replay` and `bridle policy diff`: past calls under other rules."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.cli.policy.deciding import IN_FORCE, WORDS, Decider, RuleSet, read_rules, rules_in, rules_in_force
from bridle.cli.policy.recorded import Outcome, RecordedCall, recorded, transcripts
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.host.git.commands import run_git
from bridle.permissions.rules import write
from bridle.types.errors import UsageError
from bridle.types.permission import Decision

_CURRENT = "current"
_SETTINGS = ".claude/settings.json"
_MOST_SHOWN = 40


class Changed(Struct, frozen=True, kw_only=True):
    """Calls with one subject about which another decision is made now."""

    tool: str
    subject: str
    was: Outcome
    now: Outcome
    times: int
    reason: str
    rule: str | None
    example: str
    """The id of one of the calls."""


def run_replay(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Decide again about past calls, and show those with another result.

    Raises:
        UsageError: there is no such session.
        ConfigError: the rules cannot be read.
    """
    file = given.text("rules")
    rules = IN_FORCE if file is None else read_rules(file, adds=given.on("add"))
    decider = Decider(env, rules)
    counts = {"calls": 0, "same": 0, "undecidable": 0, "unknown": 0}
    found: list[tuple[RecordedCall, Outcome, Decision]] = []
    sessions: set[str] = set()
    for call in calls_of(given, env):
        counts["calls"] += 1
        sessions.add(call.session)
        decision = decider.decide(call)
        if decision is None:
            counts["undecidable"] += 1
            continue
        if _is_same(call, WORDS[type(decision)]):
            counts["unknown" if call.was == "ran" else "same"] += 1
        else:
            found.append((call, call.was, decision))
    changed = _grouped(found)
    if given.on("json"):
        rows = [msgspec.to_builtins(each) for each in changed]
        return _print({"rules": rules.name, "sessions": len(sessions), **counts, "changed": rows})
    lines = [f"{counts['calls']:,} calls of {len(sessions):,} sessions under {rules.name}"]
    lines += _told(changed)
    if counts["unknown"]:
        lines.append(f"{counts['unknown']:,} ran and do not say whether anyone was asked")
    if counts["undecidable"]:
        lines.append(f"{counts['undecidable']:,} had an input that their tool refuses")
    lines.append(f"{counts['same']:,} as before")
    return tell(*lines)


def run_diff(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Compare two sets of rules, and what they say about past calls; 1 if they differ.

    Raises:
        UsageError: one of them names no rules, or there is no such session.
        ConfigError: one of them cannot be read.
    """
    old, new = (_rules_named(name, env) for name in (given.one("old"), given.text("new") or _CURRENT))
    before, after = Decider(env, old), Decider(env, new)
    listed = _listed(*(_rules_of(each, env) for each in (old, new)))
    found: list[tuple[RecordedCall, Outcome, Decision]] = []
    count = 0
    for call in calls_of(given, env):
        count += 1
        first, second = before.decide(call), after.decide(call)
        if first is not None and second is not None and type(first) is not type(second):
            found.append((call, WORDS[type(first)], second))
    changed = _grouped(found)
    if given.on("json"):
        rows = [msgspec.to_builtins(each) for each in changed]
        _print({"old": old.name, "new": new.name, "rules": listed, "calls": count, "changed": rows})
    else:
        tell(*(listed or ("no rule differs",)), "", f"{count:,} recorded calls: {old.name} → {new.name}")
        tell(*_told(changed))
    return 1 if listed or changed else 0


def calls_of(given: ParsedArguments, env: Mapping[str, str]) -> Iterator[RecordedCall]:
    """The recorded calls that the options choose.

    Raises:
        UsageError: there is no such session.
    """
    sessions = [name for word in given.all("sessions") for name in word.split(",") if name]
    every = given.on("all") or sessions == ["all"]
    return recorded(transcripts(env, os.getcwd(), () if every else sessions, every=every))


def _is_same(call: RecordedCall, now: Outcome) -> bool:
    if call.was == "ran":
        return now != "deny"
    if call.by == "classifier":
        return now in ("ask", "allow")  # Then a model decided in the place of a person.
    return call.was == now


def _grouped(found: Iterable[tuple[RecordedCall, Outcome, Decision]]) -> list[Changed]:
    rows: dict[tuple[str, str, Outcome, Outcome], list[tuple[RecordedCall, Decision]]] = {}
    for call, was, decision in found:
        rows.setdefault((call.tool, call.subject, was, WORDS[type(decision)]), []).append((call, decision))
    changed = [
        Changed(
            tool=tool,
            subject=subject,
            was=was,
            now=now,
            times=len(calls),
            reason=calls[-1][1].reason,
            rule=None if (rule := calls[-1][1].rule) is None else str(rule),
            example=calls[-1][0].id,
        )
        for (tool, subject, was, now), calls in rows.items()
    ]
    # What was refused and would run comes first: that is what a new rule must not do.
    order = {"deny": 0, "ask": 1, "ran": 2, "allow": 3}
    return sorted(changed, key=lambda each: (each.now != "allow", order[each.was], -each.times))


def _told(changed: list[Changed]) -> Iterator[str]:
    if not changed:
        yield "no decision differs"
        return
    for now in ("allow", "ask", "deny"):
        rows = [each for each in changed if each.now == now]
        if not rows:
            continue
        total = sum(each.times for each in rows)
        yield f"now {now}: {total:,} calls"
        for each in rows[:_MOST_SHOWN]:
            subject = each.subject if len(each.subject) <= 90 else f"{each.subject[:90]}…"
            by = f"rule {each.rule}" if each.rule else each.reason
            yield f"  {each.times:>5} × was {each.was:<5} {each.tool}({subject})  {by}  [{each.example}]"
        if len(rows) > _MOST_SHOWN:
            yield f"  and {len(rows) - _MOST_SHOWN} more: --json shows all"


def _rules_named(name: str, env: Mapping[str, str]) -> RuleSet:
    if name == _CURRENT:
        return IN_FORCE
    if os.path.isfile(name):
        return read_rules(name)
    if not name.startswith("-"):
        done = asyncio.run(run_git(os.getcwd(), env, "show", f"{name}:./{_SETTINGS}"))
        if done.ok:
            return rules_in(done.output.encode(), f"{name}:{_SETTINGS}")
    raise UsageError(
        f"{name} is neither a settings file nor a commit with {_SETTINGS}. "
        f"Name a file, a commit or {_CURRENT!r}."
    )


def _rules_of(chosen: RuleSet, env: Mapping[str, str]) -> set[str]:
    rules = rules_in_force(env, os.getcwd()) if chosen.rules is None else chosen.rules
    return {f"{rule.effect.value} {write(rule)}" for rule in rules}


def _listed(old: set[str], new: set[str]) -> list[str]:
    return [*(f"- {rule}" for rule in sorted(old - new)), *(f"+ {rule}" for rule in sorted(new - old))]


def _print(value: Any) -> int:
    return say(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
