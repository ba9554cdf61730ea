"""What flags, variables and settings choose about permissions: the mode, the modes to come, the rules."""

import os
from collections.abc import Mapping, Sequence

from bridle.config.load import Config
from bridle.config.options import SessionOptions
from bridle.permissions.rules import parse, rules_of, split_rules
from bridle.providers import catalog
from bridle.session.model_choices import choose_model
from bridle.tools.catalog import CATALOG
from bridle.types.errors import UsageError
from bridle.types.permission import Effect, Mode, Rule, RuleSource
from bridle.types.tool import RUNS_COMMANDS
from bridle.types.variables import is_on

_USABLE_MODES: Mapping[str, Mode] = {
    "acceptEdits": "acceptEdits",
    "plan": "plan",
    "dontAsk": "dontAsk",
    "bypassPermissions": "bypassPermissions",
}


def choose_mode(options: SessionOptions, config: Config, env: Mapping[str, str]) -> Mode:
    """The permission mode to start in.

    Raises:
        UsageError: a mode is asked for on the command line, or bypassing anywhere, and cannot be had.
    """
    permissions = config.settings.permissions
    named = options.permission_mode or (permissions.default_mode if permissions else None) or "default"
    if options.dangerously_skip_permissions:
        named = "bypassPermissions"
    if named == "bypassPermissions":
        _require_bypass(config, env)
    if named == "auto":
        reason = _why_not_auto(options, config, env)
        if reason is not None and options.permission_mode is not None:
            raise UsageError(f"--permission-mode auto is not available: {reason}")
        return "default" if reason is not None else "auto"
    return _USABLE_MODES.get(named, "default")


def choose_modes(options: SessionOptions, config: Config, env: Mapping[str, str]) -> tuple[Mode, ...]:
    """The permission modes that the session may be switched to while it runs."""
    usual: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk")
    if _why_not_auto(options, config, env) is None:
        usual = (*usual, "auto")
    asked = options.allow_dangerously_skip_permissions or options.dangerously_skip_permissions
    if not asked and options.permission_mode != "bypassPermissions":
        return usual
    try:
        _require_bypass(config, env)
    except UsageError:
        return usual
    return (*usual, "bypassPermissions")


_RESTRICTED = (*RUNS_COMMANDS, "fetch", "workflow")
"""Kinds of tools that run commands or code, or fetch what a page says."""


def choose_rules(
    options: SessionOptions, config: Config, *, trusted: bool
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Every rule that counts, and sentences about those that do not.

    Raises:
        UsageError: a rule on the command line cannot be read.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    for layer in config.layers:
        found, wrong = rules_of(layer)
        problems += wrong
        if layer.source == "projectSettings" and not trusted:
            kept = tuple(rule for rule in found if rule.effect is not Effect.ALLOW)
            if len(kept) < len(found):
                problems.append(f"{layer.path}: its allow rules are ignored: this folder is not trusted yet")
            found = kept
        rules += found
    if config.settings.allow_managed_permission_rules_only:
        rules = [rule for rule in rules if rule.source == "policySettings"]
    rules += _flag_rules(options.allowed_tools, "allowedTools", Effect.ALLOW)
    rules += _flag_rules(options.disallowed_tools, "disallowedTools", Effect.DENY)
    if options.restricted:
        named = {word for given in options.tools or () for word in given.replace(",", " ").split()}
        risky = (each.name for each in CATALOG if each.traits.kind in _RESTRICTED)
        taken = tuple(name for name in risky if name not in named)
        rules += _flag_rules(taken, "restricted", Effect.DENY)
    return tuple(rules), tuple(problems)


def refresh_rules(
    options: SessionOptions, config: Config, current: tuple[Rule, ...], *, trusted: bool
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules after settings have changed on disk; what was granted in the session stays.

    Raises:
        UsageError: a rule on the command line cannot be read.
    """
    fresh, problems = choose_rules(options, config, trusted=trusted)
    known = {(rule.effect, rule.tool, rule.content, rule.source) for rule in fresh}
    granted = (
        rule
        for rule in current
        if rule.file is None and (rule.effect, rule.tool, rule.content, rule.source) not in known
    )
    return (*fresh, *granted), problems


def is_unasked_inside(config: Config) -> bool:
    """Whether commands within the boundary run without a question."""
    wanted = config.settings.sandbox
    if wanted is None:
        return True
    only_network = wanted.filesystem is not None and wanted.filesystem.disabled is True
    return wanted.auto_allow_bash_if_sandboxed is not False and not only_network


def _why_not_auto(options: SessionOptions, config: Config, env: Mapping[str, str]) -> str | None:
    """Why no model can judge calls, in one sentence; None when one can."""
    if catalog.find(choose_model(options, config, env)).dialect == "offline":
        return "the offline model can't review calls"
    settings, permissions = config.settings, config.settings.permissions
    if "disable" in (settings.disable_auto_mode, permissions.disable_auto_mode if permissions else None):
        return "the setting disableAutoMode turns it off"
    return None


def _require_bypass(config: Config, env: Mapping[str, str]) -> None:
    permissions = config.settings.permissions
    if permissions is not None and permissions.disable_bypass_permissions_mode == "disable":
        raise UsageError("bypassPermissions is turned off by permissions.disableBypassPermissionsMode")
    if os.geteuid() == 0 and not is_on(env, "IS_SANDBOX"):
        raise UsageError(
            "bypassPermissions is not allowed for root: run as another user, or set IS_SANDBOX=1 in a sandbox"
        )


def _flag_rules(given: Sequence[str], key: str, effect: Effect) -> list[Rule]:
    source: RuleSource = "cliArg"
    texts = [text for part in given for text in split_rules(part)]
    # `*` and `mcp__*` name every tool, which only makes sense when taking away.
    try:
        return [parse(text, effect, source) for text in texts]
    except ValueError as error:
        raise UsageError(f"--{key}: {error}") from error
