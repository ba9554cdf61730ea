"""Decides about recorded calls under given rules; nothing runs and nothing is written."""

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from bridle.cli.policy.recorded import Outcome, RecordedCall
from bridle.cli.verbs.hypothetical_calls import imagine
from bridle.config.load import Config, load
from bridle.config.options import SessionOptions
from bridle.config.state import is_trusted
from bridle.host.paths import config_home
from bridle.permissions.policy import decide
from bridle.permissions.preparation import SessionPosition, prepare
from bridle.permissions.rules import Origin, rules_from
from bridle.permissions.tool_names import SHELL
from bridle.session import choices, permission_choices
from bridle.types.errors import ConfigError, ToolError, UsageError
from bridle.types.permission import Allow, Ask, Case, Decision, Deny, Rule

WORDS: Mapping[type[Decision], Outcome] = {Allow: "allow", Ask: "ask", Deny: "deny"}


class RuleSet(Struct, frozen=True, kw_only=True):
    """Rules under a name for people."""

    name: str
    rules: tuple[Rule, ...] | None = None
    """None for those in force in the folder of each call."""
    adds: bool = False
    """In addition to those in force."""


IN_FORCE = RuleSet(name="the rules in force")


class Decider:
    """Decides about calls, with the settings of each folder read once."""

    def __init__(self, env: Mapping[str, str], rules: RuleSet = IN_FORCE) -> None:
        self._env = env
        self._rules = rules
        self._home = env.get("HOME") or os.path.expanduser("~")
        self._position = lru_cache(maxsize=256)(self._read_position)

    def case(self, call: RecordedCall) -> Case | None:
        """Everything that bears on a call; None where its tool would have refused the input itself."""
        try:
            asked = imagine(call.tool, call.input, cwd=call.cwd, home=self._home)
        except (ToolError, UsageError):
            return None
        if call.by == "hook":
            asked = msgspec.structs.replace(asked, hook=Allow("a hook allowed it then", "hook"))

        def confines(command: str) -> bool:
            """What ran unasked and for no named reason ran in the sandbox."""
            return confined and bool(command)

        confined = call.tool == SHELL and call.was == "allow" and not call.by
        position = msgspec.structs.replace(self._position(call.cwd), mode=call.mode, confines=confines)
        return prepare(asked, position)

    def decide(self, call: RecordedCall) -> Decision | None:
        case = self.case(call)
        return None if case is None else decide(case)

    def _read_position(self, cwd: str) -> SessionPosition:
        config = self._config(cwd)
        trusted = is_trusted(self._env, cwd)
        options = SessionOptions()
        force, _ = permission_choices.choose_rules(options, config, trusted=trusted)
        return SessionPosition(
            rules=_chosen(force, self._rules),
            cwd=cwd,
            start=cwd,
            roots=choices.choose_roots(options, config, cwd, trusted=trusted),
            home=self._home,
            config_home=config_home(self._env),
            attended=True,
            trusted=trusted,
            env=self._env,
        )

    def _config(self, cwd: str) -> Config:
        place = cwd if os.path.isdir(cwd) else "/"
        return load(cwd=place, env=self._env, flag=None, setting_sources=None)


def read_rules(path: str, *, adds: bool = False) -> RuleSet:
    """The rules of a settings file, or of one that is their `permissions` alone.

    Raises:
        ConfigError: it cannot be read, or a rule in it is none.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    return rules_in(data, path, adds=adds)


def rules_in(data: bytes, name: str, *, adds: bool = False) -> RuleSet:
    """The rules of the content of a settings file.

    Raises:
        ConfigError: it cannot be read, or a rule in it is none.
    """
    try:
        values = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name} is not a JSON object: {error}.") from error
    given = values.get("permissions", values)
    if not isinstance(given, dict) or not any(key in given for key in ("allow", "ask", "deny")):
        raise ConfigError(f'{name} has no rules: {{"permissions": {{"allow": ["Bash(make test)"]}}}}')
    rules, problems = rules_from(given, Origin(source="userSettings", file=name))
    if problems:
        raise ConfigError(f"{name}: {problems[0]}")
    return RuleSet(name=name, rules=rules, adds=adds)


def rules_in_force(env: Mapping[str, str], cwd: str) -> tuple[Rule, ...]:
    """The rules of every settings file that counts in a folder."""
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None)
    trusted = is_trusted(env, cwd)
    return permission_choices.choose_rules(SessionOptions(), config, trusted=trusted)[0]


def with_rules(case: Case, rules: Sequence[Rule]) -> Case:
    return msgspec.structs.replace(case, rules=(*case.rules, *rules))


def _chosen(force: tuple[Rule, ...], chosen: RuleSet) -> tuple[Rule, ...]:
    if chosen.rules is None:
        return force
    kept = force if chosen.adds else tuple(rule for rule in force if rule.source == "policySettings")
    return (*kept, *chosen.rules)
