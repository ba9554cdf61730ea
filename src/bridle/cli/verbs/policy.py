"""`bridle policy`: why a call would be allowed, asked about or denied, and which rules do nothing."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.cli.verbs.hypothetical_calls import imagine
from bridle.config.load import Config, load
from bridle.config.options import SessionOptions
from bridle.config.state import is_trusted
from bridle.host.paths import config_home
from bridle.permissions.lint import lint
from bridle.permissions.policy import Derivation, explain
from bridle.permissions.preparation import SessionPosition, prepare
from bridle.permissions.rules import rules_of
from bridle.session import choices, permission_choices
from bridle.tools.catalog import traits_of
from bridle.tools.known_names import KNOWN_NAMES
from bridle.types.errors import ToolError, UsageError
from bridle.types.permission import MODES, Allow, Ask, Decision, Deny, Mode, Rule, RuleSource

if TYPE_CHECKING:
    from bridle.cli.policy.recorded import RecordedCall

_ID = re.compile(r"[A-Za-z]+[_-][\w-]{1,100}|\w{16,100}")
"""What services call their calls: `toolu_01…`, `call_…`."""
_WORDS: dict[type[Decision], str] = {Allow: "allow", Ask: "ask", Deny: "deny"}
_SOURCES: Mapping[RuleSource, str] = {
    "userSettings": "user settings",
    "projectSettings": "project settings",
    "localSettings": "local project settings",
    "flagSettings": "--settings",
    "policySettings": "managed settings",
    "cliArg": "the command line",
    "command": "a command",
    "session": "this session",
}
_WIDEST_TEXT = 100


def why(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Explain the decision about a call.

    Raises:
        UsageError: it is no call, or the tool refuses the input.
        ConfigError: a settings file cannot be used.
    """
    if (recorded := _recorded(given.one("call"), env)) is not None:
        return _why_then(recorded, given, env)
    name, input = read_call(given.one("call"))
    cwd = os.getcwd()
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None)
    standing = position_for(config, _mode(given), env, cwd, trusted=is_trusted(env, cwd))
    try:
        asked = imagine(name, input, cwd=cwd, home=standing.home)
    except ToolError as error:
        raise UsageError(f"{name} would reject this input regardless of the rules: {error}") from error
    derivation = explain(prepare(asked, standing))
    if given.on("json"):
        return say(msgspec.json.format(msgspec.json.encode(_to_json(derivation)), indent=2).decode() + "\n")
    return tell(*_lines(derivation, standing.mode))


def lint_rules(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Find rules that have no effect; the exit code is 1 if there are any."""
    # What an untrusted folder brings does not count yet, but can be looked at.
    config = load(cwd=os.getcwd(), env=env, flag=None, setting_sources=None, trusted=True)
    rules: list[Rule] = []
    complaints: list[str] = []
    for layer in config.layers:
        found, wrong = rules_of(layer)
        rules += found
        complaints += wrong
    findings = [str(finding) for finding in lint(rules, KNOWN_NAMES)]
    if given.on("json"):
        say(msgspec.json.format(msgspec.json.encode([*complaints, *findings]), indent=2).decode() + "\n")
    else:
        tell(*((*complaints, *findings) or (f"{len(rules)} rules, no problems",)))
    return 1 if complaints or findings else 0


def _mode(given: ParsedArguments) -> Mode | None:
    name = given.text("mode")
    return next((mode for mode in MODES if mode == ("default" if name == "manual" else name)), None)


def read_call(text: str) -> tuple[str, dict[str, Any]]:
    """The tool and input that a text names, as JSON or in the form of a rule.

    Raises:
        UsageError: it names no call.
    """
    stripped = text.strip()
    if stripped.startswith("{"):
        return _read_json(stripped)
    name, bracket, rest = stripped.partition("(")
    if not name or (bracket and not rest.endswith(")")):
        raise UsageError(f"{text!r} is not a call: write Tool(what), such as 'Bash(git push)', or JSON")
    content = rest[:-1]
    traits = traits_of(name)
    if traits.kind == "fetch" and content.startswith("domain:"):
        content = f"https://{content.removeprefix('domain:')}/"
    if not bracket:
        return name, {}
    match traits.kind:
        case "agent":
            return name, {"subagent_type": content, "description": "a task", "prompt": "a task"}
        case "skill":
            return name, {"skill": content}
        case _:
            return name, {traits.about or "subject": content}


def _read_json(text: str) -> tuple[str, dict[str, Any]]:
    try:
        values = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"the call is not a JSON object: {error}") from error
    name = values.get("tool") or values.get("tool_name") or values.get("name")
    input = values.get("input") or values.get("tool_input") or {}
    if not isinstance(name, str) or not isinstance(input, dict):
        raise UsageError('the call needs a tool and an input: {"tool": "Bash", "input": {"command": "ls"}}')
    return name, input


def _recorded(text: str, env: Mapping[str, str]) -> "RecordedCall | None":
    """The call of a conversation that a text names by its id."""
    if not _ID.fullmatch(text.strip()) or text.strip() in KNOWN_NAMES:
        return None
    from bridle.cli.policy.recorded import find_call

    return find_call(text.strip(), env)


def _why_then(call: "RecordedCall", given: ParsedArguments, env: Mapping[str, str]) -> int:
    """The decision about a call of a conversation as it was, and as it would be now."""
    from bridle.cli.policy.deciding import Decider

    case = Decider(env).case(call)
    derivation = None if case is None else explain(case)
    if given.on("json"):
        then = {"decision": call.was, "by": call.by, "ran": not call.refused, "reason": call.reason}
        about = {
            "call": call.id,
            "session": call.session,
            "at": call.at,
            "tool": call.tool,
            "input": call.input,
        }
        now = None if derivation is None else _to_json(derivation)
        return say(
            msgspec.json.format(msgspec.json.encode({**about, "was": then, "now": now}), indent=2).decode()
            + "\n"
        )
    by = {"user": "a person answered", "no one": "no one could answer", "": "not recorded by what"}
    lines = [
        f"{call}",
        f"  session {call.session}, {call.at}, mode {call.mode}, in {call.cwd}",
        f"was {call.was}: {by.get(call.by, f'decided by {call.by}')}, {'not run' if call.refused else 'run'}",
        *((f"  {_short(call.reason)}",) if call.reason else ()),
    ]
    if derivation is None:
        return tell(*lines, "", "now: the tool refuses this input, whatever the rules say")
    return tell(*lines, "", "With the rules and files of now:", *_lines(derivation, call.mode))


def position_for(
    config: Config, mode: Mode | None, env: Mapping[str, str], cwd: str, *, trusted: bool
) -> SessionPosition:
    """Where a session would stand that begins in this folder."""
    options = SessionOptions()
    rules, _ = permission_choices.choose_rules(options, config, trusted=trusted)
    return SessionPosition(
        rules=rules,
        mode=mode or permission_choices.choose_mode(options, config, env),
        cwd=cwd,
        start=cwd,
        roots=choices.choose_roots(options, config, cwd, trusted=trusted),
        home=env.get("HOME") or os.path.expanduser("~"),
        config_home=config_home(env),
        trusted=trusted,
        env=env,
    )


def _lines(derivation: Derivation, mode: str) -> Iterator[str]:
    decision = derivation.decision
    yield f"{_WORDS[type(decision)]}: {decision.reason}"
    if decision.rule is not None:
        yield f"  rule {decision.rule} from {_origin(decision.rule)}"
    if decision.parts:
        yield ""
        yield "Parts of the command:"
        for part in decision.parts:
            yield f"  {part.decision:<6} {_short(part.command)}  ({part.reason})"
    yield ""
    yield f"Checks in mode {mode}; the first with an opinion decides:"
    winner = next((each for each in derivation.opinions if each.decision is not None), None)
    for opinion in derivation.opinions:
        mark = "*" if opinion is winner else " "
        if opinion.decision is None:
            yield f"{mark} {opinion.check:<20} -"
            continue
        rule = opinion.decision.rule
        place = f"  [{_origin(rule)}]" if rule is not None else ""
        word = _WORDS[type(opinion.decision)]
        yield f"{mark} {opinion.check:<20} {word:<6} {_short(opinion.decision.reason)}{place}"
    if winner is None:
        yield "* nothing else         ask    no permission rule matches"


def _to_json(derivation: Derivation) -> dict[str, Any]:
    return {
        **_decision_to_json(derivation.decision),
        "parts": [msgspec.to_builtins(part) for part in derivation.decision.parts],
        "checks": [
            {"check": each.check, **(_decision_to_json(each.decision) if each.decision is not None else {})}
            for each in derivation.opinions
        ],
    }


def _decision_to_json(decision: Decision) -> dict[str, Any]:
    rule = decision.rule
    return {
        "decision": _WORDS[type(decision)],
        "reason": decision.reason,
        "rule": None
        if rule is None
        else {"rule": str(rule), "source": rule.source, "file": rule.file, "line": rule.line},
    }


def _origin(rule: Rule) -> str:
    place = ":".join(str(part) for part in (rule.file, rule.line) if part is not None)
    return f"{_SOURCES[rule.source]}, {place}" if place else _SOURCES[rule.source]


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _WIDEST_TEXT else f"{one_line[:_WIDEST_TEXT]}…"
