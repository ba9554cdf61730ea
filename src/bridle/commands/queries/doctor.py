"""Checks of the installation, the settings and what a session depends on; nothing is changed."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from bridle.config.installation import may_be_changed, others_on_path, this_installation
from bridle.config.load import Config
from bridle.config.mcp import servers as mcp
from bridle.config.sandbox.settings import make_sandbox
from bridle.config.variables_table import without_effect
from bridle.context.instruction_scope import open_scope
from bridle.context.instructions import load
from bridle.extensions.agents import load_agents
from bridle.extensions.index import Index
from bridle.extensions.roots import roots_of, whereabouts
from bridle.extensions.skills import SkillCatalog
from bridle.extensions.styles import style_problems
from bridle.extensions.themes import theme_problems
from bridle.host.git.repository import find_root
from bridle.host.paths import bridle_dir, config_home, projects_dir
from bridle.host.programs import find_program
from bridle.host.ripgrep import find_ripgrep
from bridle.host.shell import find_bash
from bridle.permissions.lint import lint
from bridle.permissions.rules import rules_of
from bridle.providers.connect import check_vendor
from bridle.providers.model_listing import Choice, offer, way_to_key
from bridle.tools.known_names import KNOWN_NAMES
from bridle.types.errors import ConfigError
from bridle.types.question import Answer, NetworkQuestion, Refused
from bridle.types.services.mcp import ServerState
from bridle.types.variables import is_on
from bridle.version import COMPATIBLE_WITH, __version__

Health = Literal["ok", "warning", "fault"]

_LARGE_INSTRUCTIONS = 40_000
_LITTLE_SPACE = 500 * 1024 * 1024
_MOST_SHOWN = 20


class Check(Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    group: str
    health: Health
    text: str
    remedy: str = ""
    """What to do about it, when something is wrong."""


class DoctorContext(Struct, frozen=True, kw_only=True):
    """What is to be checked."""

    config: Config
    env: Mapping[str, str]
    cwd: str
    trusted: bool
    model: str
    servers: Sequence[ServerState] = ()
    """How MCP servers fare, where a session runs."""
    hook_faults: Callable[[], Sequence[str]] = lambda: ()
    """What keeps hooks from running."""


async def run_checks(scene: DoctorContext) -> tuple[Check, ...]:
    """Every check, in the order in which a reader wants them."""
    found: list[Check] = []
    for check in CHECKS:
        found += check(scene)
    found += await _sandbox(scene)
    return tuple(found)


def _installation(scene: DoctorContext) -> Iterator[Check]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield _ok(
        "Installation", f"bridle {__version__} (speaks {COMPATIBLE_WITH}), Python {python}, {sys.platform}"
    )
    yield from _ways(scene)
    home = config_home(scene.env)
    if os.path.isdir(home) and not os.access(home, os.W_OK):
        yield _fault("Installation", f"{home} is not writable", "change its owner, or set CLAUDE_CONFIG_DIR")
    else:
        yield _ok("Installation", f"configuration in {home}")
    try:
        place = os.statvfs(home if os.path.isdir(home) else os.path.dirname(home))
    except OSError:
        return
    if place.f_bavail * place.f_frsize < _LITTLE_SPACE:
        yield _warning("Installation", f"low disk space for {home}", "remove old transcripts")


def _ways(scene: DoctorContext) -> Iterator[Check]:
    """How it was installed, whether it can be updated, and whether another one is in front of it."""
    if is_on(scene.env, "DISABLE_INSTALLATION_CHECKS"):
        return
    found = this_installation(__version__)
    command = found.command()
    if is_on(scene.env, "DISABLE_UPDATES"):
        yield _ok("Installation", f"{found.summary}; updates are disabled (DISABLE_UPDATES)")
    elif command is None:
        yield _ok("Installation", f"{found.summary}; {found.advice}")
    elif not may_be_changed(found):
        advice = "ask the administrator, or install bridle yourself with pipx or uv"
        yield _warning("Installation", f"{found.summary}, which is not writable", advice)
    else:
        yield _ok("Installation", f"{found.summary}; update with: bridle update ({' '.join(command)})")
    others = others_on_path(scene.env)
    if len(others) > 1:
        yield _warning(
            "Installation",
            f"several bridle programs on the PATH: {', '.join(others)}; the first one runs",
            "remove the others, or change the order of PATH",
        )
    elif not others and found.kind != "source":
        yield _warning("Installation", "bridle is not on the PATH", f"add {found.place}/bin to PATH")


def _programs(scene: DoctorContext) -> Iterator[Check]:
    if (path := find_ripgrep(scene.env)) is not None:
        yield _ok("Programs", f"ripgrep at {path}")
    else:
        yield _warning("Programs", "ripgrep is not installed, so searches are slow", "install ripgrep")
    if (git := find_program("git", scene.env, writable=(scene.cwd,))) is None:
        yield _warning("Programs", "git is not installed", "install git to see changes and branches")
    else:
        place = find_root(scene.cwd)
        yield _ok("Programs", f"git at {git}, " + (f"repository {place}" if place else "not a repository"))
    if find_bash(scene.env) is None:
        yield _warning("Programs", "bash is not installed", "install bash")


def _login(scene: DoctorContext) -> Iterator[Check]:
    config = scene.config
    choice = Choice(settings=config.settings, own=config.raw.get("bridleModels") or {}, env=scene.env)
    try:
        line = offer(scene.model, choice)
        check_vendor(line.model, scene.env, choice.own)
    except ConfigError as error:
        yield _fault("Model", str(error), "choose another model, or fix bridleModels in the settings")
        return
    if line.key_source is not None:
        yield _ok("Model", f"{scene.model}, key from {line.key_source}")
    elif line.key == "not needed":
        yield _ok("Model", f"{scene.model} does not need a key")
    else:
        remedy = f"{way_to_key(line.service)}; --model offline needs no key"
        yield _fault("Model", f"no key for {scene.model}", remedy)


def _settings(scene: DoctorContext) -> Iterator[Check]:
    for layer in scene.config.layers:
        yield _ok("Settings", f"{layer.source}: {layer.path}")
    for problem in scene.config.problems[:_MOST_SHOWN]:
        yield _fault(
            "Settings", str(problem), "fix the value; bridle config explain KEY shows where it is set"
        )
    for variable in without_effect(scene.env):
        text = f"{variable.name} has no effect: {variable.no_effect}"
        yield _warning("Settings", text, "remove it; bridle docs variables lists every variable")
    if not scene.trusted:
        yield _warning(
            "Settings",
            "this folder is not trusted, so its hooks, servers and allow rules are off",
            "run bridle trust",
        )


def _rules(scene: DoctorContext) -> Iterator[Check]:
    read = [rules_of(layer) for layer in scene.config.layers]
    rules = [rule for found, _ in read for rule in found]
    wrong = [text for _, texts in read for text in texts]
    for text in (*wrong, *map(str, lint(rules, KNOWN_NAMES))):
        yield _warning("Permissions", text, "fix or remove the rule")
    if rules and not wrong:
        yield _ok("Permissions", f"{len(rules)} rules")


def _hooks(scene: DoctorContext) -> Iterator[Check]:
    faults = scene.hook_faults()
    for fault in faults[:_MOST_SHOWN]:
        yield _fault("Hooks", fault, "run bridle hooks lint for details")
    count = sum(len(layer.values.get("hooks") or {}) for layer in scene.config.layers)
    if count and not faults:
        yield _ok("Hooks", f"hooks for {count} events")


def _instructions(scene: DoctorContext) -> Iterator[Check]:
    loaded = load(open_scope(scene.cwd, env=scene.env, managed_dir=scene.config.inputs.managed_dir))
    for problem in loaded.problems[:_MOST_SHOWN]:
        yield _warning("Instructions", problem, "fix the file")
    for file in loaded.files:
        if len(file.text) > _LARGE_INSTRUCTIONS:
            text = f"{file.path} has {len(file.text):,} characters, sent with every request"
            yield _warning("Instructions", text, "shorten it, or move parts to rules with paths")
    if loaded.files:
        yield _ok("Instructions", ", ".join(file.path for file in loaded.files))


def _extension_files(scene: DoctorContext) -> Iterator[Check]:
    index = Index(os.path.join(bridle_dir(scene.env), "index"))
    where = whereabouts(scene.config, scene.env, cwd=scene.cwd)
    skills = SkillCatalog(index, lambda: (*roots_of("skills", where), *roots_of("commands", where)))
    problems = (
        *skills.problems,
        *load_agents(index, roots_of("agents", where)).problems,
        *style_problems(index, roots_of("output-styles", where)),
        *theme_problems(index, roots_of("themes", where)),
    )
    for problem in problems[:_MOST_SHOWN]:
        yield _warning("Extension files", str(problem), "fix, rename or remove the file")
    if (more := len(problems) - _MOST_SHOWN) > 0:
        yield _warning("Extension files", f"{more} more have problems", "fix these first")


def _servers(scene: DoctorContext) -> Iterator[Check]:
    wish = mcp.ServerSources(config=scene.config, env=scene.env, trusted=scene.trusted)
    for problem in mcp.find_servers(wish).problems:
        yield _fault("MCP servers", str(problem), "fix the entry")
    for state in scene.servers:
        if state.status == "failed":
            yield _fault(
                "MCP servers", f"{state.name}: {state.error or 'failed'}", f"/mcp reconnect {state.name}"
            )
        elif state.status == "needs-auth":
            yield _warning("MCP servers", f"{state.name} needs a login", f"bridle mcp login {state.name}")
        else:
            yield _ok("MCP servers", f"{state.name}: {state.status}")


def _terminal(scene: DoctorContext) -> Iterator[Check]:
    env = scene.env
    term = env.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        yield _warning("Terminal", f"TERM is {term or 'not set'}: plain output", "set TERM")
    else:
        inside = " inside tmux" if env.get("TMUX") else ""
        yield _ok("Terminal", f"{env.get('TERM_PROGRAM') or term}{inside}")
    language = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    if "utf" not in language.lower() and sys.platform != "darwin":
        yield _warning("Terminal", f"the locale is {language or 'not set'}", "set LANG to a UTF-8 locale")


def _transcripts(scene: DoctorContext) -> Iterator[Check]:
    folder = projects_dir(scene.env)
    size = count = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.stat(os.path.join(parent, name)).st_size
                count += name.endswith(".jsonl")
            except OSError:
                continue  # It was removed in the meantime.
    if count:
        yield _ok("Conversations", f"{count} saved in {folder}, {size / 1_000_000:.1f} MB")


CHECKS: tuple[Callable[[DoctorContext], Iterator[Check]], ...] = (
    _installation,
    _programs,
    _login,
    _settings,
    _rules,
    _hooks,
    _instructions,
    _extension_files,
    _servers,
    _terminal,
    _transcripts,
)


async def _sandbox(scene: DoctorContext) -> list[Check]:
    """Whether the boundary that the settings ask for can be had here: it is set up and taken down again."""
    wanted = scene.config.settings.sandbox
    if wanted is None or not wanted.enabled:
        return [_ok("Sandbox", "off (sandbox.enabled)")]
    said: list[str] = []
    try:
        sandbox = await make_sandbox(
            scene.config,
            cwd=scene.cwd,
            env=scene.env,
            roots=lambda: (scene.cwd,),
            ask=_refuse,
            warn=said.append,
        )
    except ConfigError as error:
        return [_fault("Sandbox", str(error), "install bubblewrap and socat")]
    if sandbox is not None:
        await sandbox.close()
    faults = [
        _warning("Sandbox", text, "install bubblewrap and socat, or change the setting") for text in said
    ]
    return faults or [_ok("Sandbox", "commands run inside it")]


async def _refuse(question: NetworkQuestion) -> Answer:
    return Refused(message=f"{question.host} is not checked here.", by_person=False)


def _ok(group: str, text: str) -> Check:
    return Check(group=group, health="ok", text=text)


def _warning(group: str, text: str, remedy: str) -> Check:
    return Check(group=group, health="warning", text=text, remedy=remedy)


def _fault(group: str, text: str, remedy: str) -> Check:
    return Check(group=group, health="fault", text=text, remedy=remedy)
