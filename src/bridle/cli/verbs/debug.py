"""`bridle debug`: the inner parts of bridle, to look at; nothing is executed."""

import os
import sys
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urljoin

import msgspec
from msgspec import Struct

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.cli.verbs.hypothetical_calls import imagine
from bridle.config.sources import SHARED
from bridle.host.stdio import complain
from bridle.permissions.policy import decide
from bridle.permissions.preparation import SessionPosition, prepare, read_command
from bridle.permissions.rules import Origin, rules_from
from bridle.permissions.tool_names import FETCH, SHELL
from bridle.types.errors import ToolError, UsageError
from bridle.types.permission import Allow, Ask, Decision, Deny, Effect, Rule
from bridle.types.shell import Reading
from bridle.types.text import decode_json, encodable_value

_MOST_REDIRECTS = 10
_WORDS: dict[type[Decision], str] = {Allow: "allow", Ask: "ask", Deny: "deny"}


class Line(Struct, kw_only=True):
    """One call to decide upon, and all that bears on it."""

    id: Any = None
    tool: str
    input: dict[str, Any]
    mode: Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"] = "default"
    rules: dict[str, list[str]] = {}
    rules_source: Literal["projectSettings", "userSettings", "localSettings", "cliArg"] = "projectSettings"
    cwd: str | None = None
    home: str | None = None
    additional_directories: list[str] = []
    trusted: bool = True
    shell: str = "bash"
    redirects: list[str] | None = None
    dns: dict[str, list[str]] = {}


def decide_lines(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Decide about the calls on standard input."""
    del given
    for text in sys.stdin.buffer:
        if not text.strip():
            continue
        output = msgspec.json.encode(encodable_value(answer(text, env))).decode()
        if code := say(f"{output}\n"):
            return code
    return 0


def answer(text: bytes, env: Mapping[str, str]) -> dict[str, Any]:
    """The decision about the call on one line, or what is wrong with the line."""
    values: Any = None
    try:
        values = decode_json(text)
        line = msgspec.convert(values, Line)
    except (msgspec.DecodeError, RecursionError) as error:
        known = values.get("id") if isinstance(values, dict) else None
        return {"id": known, "error": f"the line is not a call: {error}"}
    try:
        decision = _decide(line, env)
    except ToolError as error:
        decision = Deny(str(error))
    except (UsageError, ValueError) as error:
        return {"id": line.id, "error": str(error)}
    output: dict[str, Any] = {
        "id": line.id,
        "decision": _WORDS[type(decision)],
        "reason": decision.reason,
        "rule": None if decision.rule is None else str(decision.rule),
    }
    if line.tool == SHELL:
        output["parts"] = [msgspec.to_builtins(part) for part in decision.parts]
    if line.tool == FETCH and line.redirects is not None:
        output["redirect"] = _redirect(line)
    return output


def _decide(line: Line, env: Mapping[str, str]) -> Decision:
    cwd = line.cwd or os.getcwd()
    home = line.home or env.get("HOME") or os.path.expanduser("~")
    if not (os.path.isabs(cwd) and os.path.isabs(home)):
        raise UsageError("cwd and home must be absolute")
    asked = imagine(line.tool, line.input, cwd=cwd, home=home)
    standing = SessionPosition(
        rules=_rules(line),
        mode=line.mode,
        cwd=cwd,
        start=cwd,
        roots=tuple(line.additional_directories) if _widens(line) else (),
        home=home,
        config_home=os.path.join(home, ".claude"),
        trusted=line.trusted,
        env=env,
        read_command=read_command if line.shell == "bash" else _unknown_shell,
    )
    decision = decide(prepare(asked, standing))
    if isinstance(decision, Allow) and line.tool == FETCH and (found := _not_public(line, asked.subject)):
        return Deny(f"{asked.subject.removeprefix('domain:')} is {found}, which is not public", "safetyCheck")
    return decision


def _rules(line: Line) -> tuple[Rule, ...]:
    rules, problems = rules_from(line.rules, Origin(source=line.rules_source))
    for problem in problems:
        complain(problem)
    return rules if _widens(line) else tuple(rule for rule in rules if rule.effect is not Effect.ALLOW)


def _widens(line: Line) -> bool:
    """Whether what the rules come from may add rights: a folder must be trusted for that."""
    return line.trusted or line.rules_source not in SHARED


def _unknown_shell(command: str, *, cwd: str, home: str) -> Reading:
    reading = read_command(command, cwd=cwd, home=home)
    return msgspec.structs.replace(reading, fault="only bash commands are supported")


def _not_public(line: Line, subject: str) -> str | None:
    """A private address of the host, as far as the line gives its addresses."""
    from bridle.host.web_address import is_public

    host = subject.removeprefix("domain:")
    return next((address for address in _addresses(line, host) if not is_public(address)), None)


def _addresses(line: Line, host: str) -> list[str]:
    named = {name.lower().removesuffix("."): addresses for name, addresses in line.dns.items()}
    return named.get(host, [])


def _redirect(line: Line) -> str:
    """What becomes of the redirections: the first that is not simply followed counts."""
    from bridle.host.web_address import is_public
    from bridle.tools.web.addresses import read_url, same_site

    try:
        target = read_url(str(line.input.get("url")))
        for number, location in enumerate(line.redirects or ()):
            try:
                following = read_url(urljoin(target.url, location))
            except (ToolError, ValueError):
                return "report"  # Another scheme, a user's name, nonsense.
            if not same_site(target, following):
                return "report"
            if number == _MOST_REDIRECTS or not all(map(is_public, _addresses(line, following.host))):
                return "error"
            target = following
    except (ToolError, ValueError):
        return "error"
    return "follow"
