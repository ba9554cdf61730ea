"""Decides about very many commands, for the fuzzer: the gate's own code, stopped at the first doubt.

What is left after the cheap part passes the whole gate, so there is no second opinion that could differ."""

from bridle.permissions import patterns
from bridle.permissions.policy import allows
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.permissions.shell.reading import denial_forms, only_edits, only_reads
from bridle.permissions.shell.syntax.lexer import Fault
from bridle.permissions.tool_names import SHELL
from bridle.types.permission import Effect


def runs_unasked(command: str, standing: SessionPosition) -> bool:
    """Whether a command would run unasked in a session that stands like this."""
    if not _may_pass(command, standing):
        return False
    asked = CallRequest(tool=SHELL, input={"command": command}, subject=command)
    return allows(prepare(asked, standing))


def _may_pass(command: str, standing: SessionPosition) -> bool:
    """Whether the whole gate must look: False only where it would ask or deny."""
    cwd, home = standing.cwd, standing.home
    if any(rule.effect is Effect.ALLOW for rule in standing.rules):
        return True
    match standing.mode:
        case "default":
            return only_reads(command, cwd=cwd, home=home)
        case "acceptEdits":
            return only_edits(command, cwd=cwd, home=home)
        case "bypassPermissions":
            return _shows_nothing_denied(command, standing)
        case _:
            return True


def _shows_nothing_denied(command: str, standing: SessionPosition) -> bool:
    rules = [
        rule.content
        for rule in standing.rules
        if rule.tool == SHELL and rule.content is not None and rule.content.endswith(":*")
    ]
    try:
        for part in denial_forms(command, cwd=standing.cwd, home=standing.home):
            if part.critical is not None or (rules and part.unseen is not None):
                return False
            if any(patterns.covers(content, form) for content in rules for form in part.deny_forms):
                return False
    except Fault:
        return False
    return True
