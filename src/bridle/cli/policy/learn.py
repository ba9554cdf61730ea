"""`bridle policy learn`: the fewest rules that would have answered what a person approved."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.cli.policy.deciding import Decider, with_rules
from bridle.cli.policy.recorded import RecordedCall
from bridle.cli.policy.replay import calls_of
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.edit import update
from bridle.host.paths import config_home
from bridle.permissions.broad_rules import broad
from bridle.permissions.policy import allows, decide
from bridle.permissions.rules import write
from bridle.permissions.updates import changed_settings, rules_of
from bridle.types.errors import ConfigError
from bridle.types.permission import Ask, Case, Effect, PermissionUpdate, Rule

_MOST_EXAMPLES = 3


class Proposal(Struct, frozen=True, kw_only=True):
    """A rule, what it answers and what else it lets through."""

    rule: str
    answers: int
    """Approved calls for which it is needed."""
    sessions: int
    also: tuple[str, ...]
    """Other calls of the history that it would allow, for example."""
    also_count: int
    warning: str = ""


class _Approved(Struct, frozen=True):
    call: RecordedCall
    case: Case
    rules: frozenset[Rule]
    """Those that would have answered it."""


def run_learn(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Propose rules; they are written only where an option says so.

    Raises:
        UsageError: there is no such session.
        ConfigError: the rules cannot be written.
    """
    least = given.whole("at-least") or 1
    decider = Decider(env)
    approved: list[_Approved] = []
    others: list[tuple[RecordedCall, Case]] = []
    unanswerable = 0
    for call in calls_of(given, env):
        case = decider.case(call)
        if case is None:
            continue
        if not call.approved:
            others.append((call, case))
        elif not isinstance(decision := decide(case), Ask):
            continue  # Rules in force answer it by now.
        elif rules := _rules(decision):
            approved.append(_Approved(call, case, rules))
        else:
            unanswerable += 1
    refused = [(call, case) for call, case in others if call.refused and call.by == "user"]
    chosen, left_out = _fewest(approved, refused, least)
    proposals = [_proposal(rule, chosen, approved, others) for rule in chosen]
    if given.on("json"):
        rows = [msgspec.to_builtins(each) for each in proposals]
        _print({"rules": rows, "left_out": left_out, "unanswerable": unanswerable})
    else:
        tell(*_told(proposals, left_out, len(approved), unanswerable))
    if (scope := given.text("write")) is not None and chosen:
        path = _write(chosen, scope, env)
        tell(f"added to {path}")
    return 0


def _rules(decision: Ask) -> frozenset[Rule]:
    return frozenset(
        rule for each in decision.lasting for rule in rules_of({**each, "destination": "userSettings"})
    )


def _fewest(
    approved: Sequence[_Approved], refused: Sequence[tuple[RecordedCall, Case]], least: int
) -> tuple[list[Rule], list[str]]:
    """The rules for calls that were approved often enough, without those that allow what was refused."""
    left_out: list[str] = []
    banned: set[Rule] = set()
    for rule in {rule for each in approved for rule in each.rules}:
        against = next((call for call, case in refused if allows(with_rules(case, (rule,)))), None)
        if against is not None:
            banned.add(rule)
            left_out.append(f"{write(rule)}: it would allow {against}, which you refused")
    open_ones = [each for each in approved if not each.rules & banned]
    times = Counter(rule for each in open_ones for rule in each.rules)
    open_ones = [each for each in open_ones if all(times[rule] >= least for rule in each.rules)]
    chosen: list[Rule] = []
    while open_ones:
        gains = Counter(each.rules - set(chosen) for each in open_ones)
        best, _ = max(
            gains.items(), key=lambda item: (item[1] / max(len(item[0]), 1), sorted(map(write, item[0])))
        )
        chosen += sorted(best, key=write)
        open_ones = [each for each in open_ones if not allows(with_rules(each.case, chosen))] if best else []
    wanted = [each for each in approved if allows(with_rules(each.case, chosen))]
    for rule in list(chosen):
        # One that others make needless goes.
        fewer = [each for each in chosen if each != rule]
        if all(allows(with_rules(each.case, fewer)) for each in wanted):
            chosen = fewer
    return chosen, sorted(left_out)


def _proposal(
    rule: Rule,
    chosen: Sequence[Rule],
    approved: Sequence[_Approved],
    others: Sequence[tuple[RecordedCall, Case]],
) -> Proposal:
    rest = [each for each in chosen if each != rule]
    needed = [
        each.call
        for each in approved
        if allows(with_rules(each.case, chosen)) and not allows(with_rules(each.case, rest))
    ]
    also = [
        call
        for call, case in others
        if call.was != "allow" and not allows(case) and allows(with_rules(case, (rule,)))
    ]
    findings = broad((rule,))
    return Proposal(
        rule=write(rule),
        answers=len(needed),
        sessions=len({call.session for call in needed}),
        also=tuple(dict.fromkeys(map(str, also)))[:_MOST_EXAMPLES],
        also_count=len(also),
        warning=findings[0].message if findings else "",
    )


def _told(
    proposals: Sequence[Proposal], left_out: Sequence[str], approved: int, unanswerable: int
) -> Iterator[str]:
    answered = sum(each.answers for each in proposals)
    yield f"{approved + unanswerable:,} calls were approved that rules in force do not answer"
    if not proposals:
        yield "no rule to propose"
    else:
        yield f"{len(proposals)} rules would have answered {answered:,} of them:"
    for each in sorted(proposals, key=lambda each: -each.answers):
        yield f"  {each.rule}"
        yield f"      {each.answers} calls in {each.sessions} sessions"
        if each.warning:
            yield f"      careful: {each.warning}"
        for example in each.also:
            yield f"      would also have allowed {example}"
        if each.also_count > len(each.also):
            yield f"      and {each.also_count - len(each.also)} more calls"
    for line in left_out:
        yield f"left out: {line}"
    if unanswerable:
        yield f"{unanswerable:,} need a person each time, whatever the rules say"
    if proposals:
        yield "Nothing was written. bridle policy learn --write user|project|local adds these rules."


def _write(rules: Sequence[Rule], scope: str, env: Mapping[str, str]) -> str:
    folder = config_home(env) if scope == "user" else os.path.join(os.getcwd(), ".claude")
    path = os.path.join(folder, "settings.local.json" if scope == "local" else "settings.json")
    values: list[Any] = [
        {"toolName": rule.tool, **({} if rule.content is None else {"ruleContent": rule.content})}
        for rule in rules
    ]
    added: PermissionUpdate = {
        "type": "addRules",
        "behavior": Effect.ALLOW.value,
        "rules": values,
        "destination": "userSettings",
    }
    try:
        update(path, lambda old: changed_settings(old, added), env=env)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def _print(value: Any) -> None:
    say(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
