"""Finds hooks that can never be called, or cannot do anything when they are."""

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from typing import get_args, get_type_hints

from bridle.config.hook_schema import CommandHook, HttpHook
from bridle.config.load import Config
from bridle.config.problems import Problem
from bridle.hooks.http import VARIABLE, HttpLimits, find_objection
from bridle.hooks.table import Entry, Table, from_layers
from bridle.tools.known_names import KNOWN_NAMES
from bridle.types.hooks.calls import ToolEvent
from bridle.types.hooks.events import EVENTS
from bridle.types.nearest import did_you_mean

_SUBJECTS: dict[str, tuple[str, ...]] = {
    "Notification": (
        "permission_prompt", "idle_prompt", "auth_success", "elicitation_dialog", "elicitation_url_dialog",
        "elicitation_complete", "elicitation_response", "agent_needs_input", "agent_completed",
    ),
    "StopFailure": (
        "rate_limit", "overloaded", "authentication_failed", "oauth_org_not_allowed", "billing_error",
        "invalid_request", "model_not_found", "server_error", "max_output_tokens", "unknown",
    ),
}  # fmt: skip
_SHELL_WORDS = (
    "! . : [ [[ { ( (( alias builtin case cd command declare echo eval exec exit export false for function if"
    " kill let local printf pwd read return select set shift source test time times trap true type ulimit"
    " umask unset until wait while"
)
_INTERPRETERS = re.compile(r"(ba|da|z|k)?sh|python[\d.]*|node|bun|deno|ruby|perl|php")


def hook_faults(config: Config, *, trusted: bool, cwd: str, env: Mapping[str, str]) -> list[str]:
    """What keeps hooks of the settings from running."""
    table = from_layers(config.layers, trusted=trusted)
    limits = HttpLimits.of(config.layers, trusted=trusted)
    return [str(each) for each in find_faults(table, limits, cwd=cwd, env=env)]


def find_faults(table: Table, limits: HttpLimits, *, cwd: str, env: Mapping[str, str]) -> Iterator[Problem]:
    """Everything that keeps a hook from being called or from starting, with file and key.

    Whether a hook counts here, by trust or by policy, is no fault of its own and left out.
    """
    unknown = [entry for entry in table.entries if entry.event not in EVENTS]
    reported = {(entry.origin.file, entry.origin.key) for entry in unknown}
    yield from (problem for problem in table.problems if (problem.file, problem.key) not in reported)
    for entry in unknown:
        yield _at(entry, f"unknown event {entry.event}{did_you_mean(entry.event, EVENTS)}")
    for entry in table.entries:
        if entry not in unknown and entry.matcher.error is None:
            yield from (_at(entry, fault) for fault in _faults(entry, limits, cwd=cwd, env=env))


def _faults(entry: Entry, limits: HttpLimits, *, cwd: str, env: Mapping[str, str]) -> Iterator[str]:
    yield from _matcher_faults(entry)
    match entry.hook:
        case CommandHook() as hook:
            yield from _command_faults(hook, cwd=cwd, env=_hook_env(entry, cwd, env))
        case HttpHook() as hook:
            if (objection := find_objection(hook, limits)) is not None:
                yield objection
            yield from _header_faults(hook, limits)
        case _:
            pass


def _matcher_faults(entry: Entry) -> Iterator[str]:
    known = _subjects(entry.event)
    if not known or entry.matcher.everything:
        return
    is_tool = issubclass(EVENTS[entry.event], ToolEvent)
    thing = "tool" if is_tool else "value"
    if entry.matcher.pattern is not None:
        # The names of server tools are not known beforehand.
        if not any(map(entry.matcher.matches, known)) and not (
            is_tool and "mcp" in (entry.matcher_text or "")
        ):
            yield f"the matcher {entry.matcher_text!r} matches no {thing} of {entry.event}"
        return
    for name in sorted(entry.matcher.names - known):
        if not (is_tool and name.startswith("mcp__")):
            yield f"the matcher names {name!r}, no {thing} of {entry.event}{did_you_mean(name, known)}"


def _subjects(event: str) -> frozenset[str]:
    """What matchers of an event can be held against, empty where that is not a fixed set."""
    kind = EVENTS[event]
    if issubclass(kind, ToolEvent):
        return KNOWN_NAMES
    if kind.matched_on is None:
        return frozenset()
    words = get_args(get_type_hints(kind).get(kind.matched_on))
    return frozenset(word for word in words if isinstance(word, str)) or frozenset(_SUBJECTS.get(event, ()))


def _command_faults(hook: CommandHook, *, cwd: str, env: Mapping[str, str]) -> Iterator[str]:
    if hook.shell == "powershell" and not shutil.which("pwsh", path=env.get("PATH")):
        yield "`shell` is powershell, but pwsh is not on the PATH"
        return
    if hook.args is not None:
        words = [hook.command, *hook.args]
    elif hook.shell == "powershell":
        return
    else:
        try:
            words = _first_command(hook.command)
        except ValueError:
            return  # Quoting of a kind that only the shell itself understands.
    program, *rest = [_expanded(word, env) for word in words] or [""]
    if _is_open(program) or (hook.args is None and program in _SHELL_WORDS.split()):
        return
    if (fault := _program_fault(program, cwd=cwd, env=env)) is not None:
        yield fault
    elif rest and _INTERPRETERS.fullmatch(os.path.basename(program)):
        script = rest[0]
        is_file = not script.startswith("-") and not _is_open(script) and "." in script
        if is_file and not os.path.exists(os.path.join(cwd, script)):
            yield f"the script {script} does not exist"


def _first_command(text: str) -> list[str]:
    """The words of the first simple command of a shell text, as far as they are known without a shell."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("();<>|&"):
            break
        if words or not re.match(r"[A-Za-z_]\w*=", word):
            words.append(word)
    return words


def _expanded(word: str, env: Mapping[str, str]) -> str:
    """A word with the variables in it that are known now."""
    if word == "~" or word.startswith("~/"):
        word = env.get("HOME", "~") + word[1:]
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda match: env.get(match[1] or match[2], match[0]), word)


def _is_open(word: str) -> bool:
    """Whether only a shell could tell what the word stands for."""
    return not word or any(sign in word for sign in "$`*?{")


def _program_fault(program: str, *, cwd: str, env: Mapping[str, str]) -> str | None:
    if "/" not in program:
        found = shutil.which(program, path=env.get("PATH"))
        return None if found else f"{program} is not on the PATH"
    path = os.path.join(cwd, program)
    if not os.path.exists(path):
        return f"{program} does not exist"
    if os.path.isdir(path):
        return f"{program} is a folder"
    return None if os.access(path, os.X_OK) else f"the program {program} is not executable: chmod +x it"


def _header_faults(hook: HttpHook, limits: HttpLimits) -> Iterator[str]:
    listed = set(hook.allowed_env_vars or ())
    usable = listed if limits.variables is None else listed.intersection(limits.variables)
    for name, value in (hook.headers or {}).items():
        for match in VARIABLE.finditer(value):
            variable = match[1] or match[2]
            if variable not in usable:
                where = "httpHookAllowedEnvVars" if variable in listed else "allowedEnvVars"
                yield f"the header {name} needs ${variable}: list it in {where}"


def _hook_env(entry: Entry, cwd: str, env: Mapping[str, str]) -> dict[str, str]:
    plugin = {"CLAUDE_PLUGIN_ROOT": entry.origin.plugin_root, "CLAUDE_PLUGIN_DATA": entry.origin.plugin_data}
    return {
        **env,
        "CLAUDE_PROJECT_DIR": cwd,
        **{name: value for name, value in plugin.items() if value is not None},
    }


def _at(entry: Entry, message: str) -> Problem:
    return Problem(file=entry.origin.file, key=entry.origin.key, line=entry.origin.line, message=message)
