"""`bridle plugin init`, `validate`, `eval` and `tag`: for those who write plugins."""

import os
import subprocess
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.context.tokens import estimate
from bridle.extensions.agents import load_agents
from bridle.extensions.index import Index
from bridle.extensions.plugins.authoring import Finding, release_tag, scaffold, validate
from bridle.extensions.plugins.components import brings
from bridle.extensions.plugins.names import INLINE, PluginId
from bridle.extensions.plugins.plugin import Loaded
from bridle.extensions.plugins.report import examine
from bridle.extensions.roots import Kind
from bridle.extensions.skills import skill_of
from bridle.host.paths import bridle_dir
from bridle.host.programs import require_program
from bridle.types.errors import ConfigError, UsageError

_SKILLS: tuple[Kind, ...] = ("skills", "commands")


def run_author(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run one of the commands.

    Raises:
        BridleError: it cannot be done.
    """
    try:
        match given.command[-1]:
            case "init":
                return _init(given)
            case "validate":
                return _validate(given)
            case "eval":
                return _eval(given, env)
            case _:
                return _tag(given, env)
    except OSError as error:
        raise ConfigError(f"{error.filename or 'The plugin'}: {error.strerror or error}") from error


def _init(given: ParsedArguments) -> int:
    name = given.one("name")
    folder = os.path.abspath(name)
    author: dict[str, str] = {}
    if (who := given.text("author")) is not None:
        author["name"] = who
    if (mail := given.text("author-email")) is not None:
        author["email"] = mail
    facts: dict[str, Any] = {
        "description": given.text("description") or "",
        **({"author": author} if author else {}),
    }
    parts = [part for each in given.many("with") or ["skill"] for part in each.split(",") if part]
    files = scaffold(folder, name=os.path.basename(folder), facts=facts, parts=parts, force=given.on("force"))
    tell(*(f"Wrote {os.path.join(folder, file)}" for file in files))
    return tell(f"Try it: bridle --plugin-dir {folder}\n")


def _validate(given: ParsedArguments) -> int:
    path = given.text("path") or "."
    kind, findings = validate(path)
    errors = [each for each in findings if each.is_error]
    if given.on("json"):
        output = {
            "valid": not errors,
            "type": kind,
            "errors": [_finding(each) for each in errors],
            "warnings": [_finding(each) for each in findings if not each.is_error],
        }
        say(msgspec.json.format(msgspec.json.encode(output), indent=2).decode() + "\n")
    else:
        tell(*map(str, findings))
        tell(f"The {kind} is not valid.\n" if errors else f"The {kind} is valid.\n")
    return 1 if errors else 0


def _finding(finding: Finding) -> dict[str, Any]:
    output: dict[str, Any] = {"path": finding.path, "message": finding.message}
    return output if finding.line is None else {**output, "line": finding.line}


def _eval(given: ParsedArguments, env: Mapping[str, str]) -> int:
    folder = os.path.abspath(given.text("path") or ".")
    manifest, components = examine(folder)
    if manifest is None or not os.path.isdir(folder):
        raise UsageError(f"{folder} is not a valid plugin; check it with: bridle plugin validate {folder}")
    loaded = Loaded(
        plugin=PluginId(manifest.name, INLINE),
        folder=folder,
        data="",
        manifest=manifest,
        components=components,
    )
    index = Index(os.path.join(bridle_dir(env), "index"))
    skills = [skill_of(found) for kind in _SKILLS for found in index.look(tuple(loaded.roots(kind)))]
    listed = [
        (each.name, estimate(f"{each.name}: {each.description} {each.when_to_use}"))
        for each in skills
        if each.for_model
    ]
    agents = load_agents(index, tuple(loaded.roots("agents")))
    listed += [(each.name, estimate(f"{each.name}: {each.description}")) for each in agents.definitions]
    problems = [*(fault.message for fault in components.faults), *map(str, agents.problems)]
    total = sum(tokens for _, tokens in listed)
    if given.on("json"):
        output = {
            "name": manifest.name,
            "brings": list(brings(components)),
            "tokens": total,
            "listed": [{"name": name, "tokens": tokens} for name, tokens in listed],
            "problems": problems,
        }
        say(msgspec.json.format(msgspec.json.encode(output), indent=2).decode() + "\n")
    else:
        tell(f"{manifest.name}: {', '.join(brings(components)) or 'nothing'}\n")
        tell(*(f"  {name}: {tokens} tokens in every session" for name, tokens in listed))
        tell(*(f"! {problem}" for problem in problems))
        tell(f"{total} tokens in total, without the tools of its MCP servers.\n")
    return 1 if problems else 0


def _tag(given: ParsedArguments, env: Mapping[str, str]) -> int:
    folder = os.path.abspath(given.text("path") or ".")
    tag = release_tag(folder)
    remote = given.text("remote") or "origin"
    if remote.startswith("-"):
        raise UsageError(f"{remote!r} is not a remote name")
    if _git(folder, env, "status", "--porcelain", "--", ".") and not given.on("force"):
        raise UsageError(f"{folder} has uncommitted changes: commit them, or pass -f")
    if given.on("dry-run"):
        return tell(f"Would tag {tag}{f' and push it to {remote}' if given.on('push') else ''}.\n")
    forced = ("--force",) if given.on("force") else ()
    _git(folder, env, "tag", "--annotate", *forced, "--message", given.text("message") or tag, tag)
    if given.on("push"):
        _git(folder, env, "push", *forced, remote, f"refs/tags/{tag}")
    return tell(f"Tagged {tag}{f' and pushed it to {remote}' if given.on('push') else ''}.\n")


def _git(folder: str, env: Mapping[str, str], *words: str) -> str:
    """What git prints in the author's own repository, with the author's own configuration."""
    try:
        done = subprocess.run(
            (require_program("git", env, writable=(folder,)), *words),
            cwd=folder,
            env=dict(env),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    except FileNotFoundError as error:
        raise UsageError(f"{error.strerror}: install git") from error
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"git {words[0]} took longer than two minutes") from error
    if done.returncode:
        raise UsageError(f"git {words[0]} failed: {done.stderr.strip()[:300]}")
    return done.stdout
