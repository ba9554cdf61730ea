"""What protects this machine now: each check tells a state, and what is wrong with a way to fix it."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from bridle.commands.queries import advisories, private_files
from bridle.commands.queries.doctor import Check
from bridle.commands.wording import counted
from bridle.config import approvals
from bridle.config.load import Config
from bridle.config.sandbox.settings import read_policy
from bridle.config.state import trust_root
from bridle.config.trust import TrustItem, brought_by, unapproved
from bridle.host.kernel_features import Features, find_features
from bridle.host.paths import bridle_dir
from bridle.host.programs import PROGRAMS
from bridle.host.ripgrep import find_ripgrep
from bridle.host.sandbox.bubblewrap import find_bubblewrap
from bridle.host.sandbox.linux import find_support
from bridle.host.sandbox.private_dir import close_private_dir, open_private_dir
from bridle.host.wall.defect_log import NAME as DEFECTS
from bridle.host.wall.probe import describe
from bridle.permissions.broad_rules import broad
from bridle.permissions.lint import lint
from bridle.tools.known_names import KNOWN_NAMES
from bridle.types.permission import Mode, Rule

_MOST_SHOWN = 20
_HELPERS = ("bash", "sh", "git", "node", "ssh")
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
_NOT_SECRET = ("SSH_AUTH_SOCK", "BRIDLE_CREDENTIALS", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "MAX_THINKING_TOKENS")


class SecurityContext(Struct, frozen=True, kw_only=True):
    """What is to be looked at."""

    config: Config
    env: Mapping[str, str]
    inherited: Mapping[str, str]
    """The environment before settings added to it."""
    cwd: str
    trusted: bool
    mode: Mode
    modes: Sequence[Mode]
    rules: Sequence[Rule]
    listens: str
    """Where a shared session would listen."""
    complaints: Sequence[str] = ()
    """About rules that cannot be read."""


async def security_checks(scene: SecurityContext) -> tuple[Check, ...]:
    """Every check; a fault is something that is promised and missing here."""
    settings = scene.config.settings.sandbox
    features = find_features(bubblewrap=None if settings is None else settings.bwrap_path)
    found = [*_kernel(features), await _second_wall(), *await _sandbox(scene)]
    for check in _CHECKS:
        found += check(scene)
    return tuple(found)


def _kernel(features: Features) -> Iterator[Check]:
    if sys.platform != "linux":
        yield _warning(
            "Kernel", f"{sys.platform} has neither Landlock nor seccomp", "use the sandbox setting"
        )
        return
    if features.landlock:
        yield _ok("Kernel", f"Landlock, version {features.landlock}")
    else:
        yield _warning("Kernel", "Landlock is missing or disabled", "add landlock to lsm= of the kernel")
    if features.notifications:
        yield _ok("Kernel", "seccomp with notifications")
    else:
        yield _warning(
            "Kernel", "seccomp without notifications", "use Linux 5.0 or newer with CONFIG_SECCOMP_FILTER"
        )
    if features.namespaces:
        yield _ok("Kernel", "user namespaces")
    else:
        remedy = "allow them with sysctl user.max_user_namespaces, or install bubblewrap setuid"
        yield _warning("Kernel", "user namespaces are not allowed for this user", remedy)
    if features.bubblewrap is None:
        yield _warning("Kernel", "bubblewrap is not installed", "install bubblewrap")
    else:
        yield _ok("Kernel", f"bubblewrap {features.bubblewrap_version or '?'} at {features.bubblewrap}")


async def _second_wall() -> Check:
    """What holds commands that ran because they were judged harmless."""
    offer = await asyncio.to_thread(describe)
    if offer.way == "landlock":
        return _ok("Second wall", offer.sentence)
    remedy = "use a kernel with Landlock, or enable the sandbox (sandbox.enabled)"
    if offer.way == "nothing":
        return _fault("Second wall", offer.sentence, remedy)
    return _warning("Second wall", offer.sentence, remedy)


async def _sandbox(scene: SecurityContext) -> list[Check]:
    """Which way the sandbox would be built, tried for real, whether or not it is on."""
    settings = scene.config.settings.sandbox
    is_on = settings is not None and settings.enabled is True
    if sys.platform != "linux":
        return [_ok("Sandbox", "on" if is_on else "off (sandbox.enabled)")]
    private = open_private_dir(scene.env)
    try:
        support = await find_support(
            read_policy(scene.config, cwd=scene.cwd, env=scene.env).policy,
            private=private,
            bubblewrap=find_bubblewrap(None if settings is None else settings.bwrap_path),
        )
    finally:
        close_private_dir(private)
    if isinstance(support, str):
        remedy = "install bubblewrap, or allow user namespaces"
        text = f"not available: {support}"
        return [_fault("Sandbox", text, remedy) if is_on else _warning("Sandbox", text, remedy)]
    new_names = (
        ""
        if support.oversees
        else ("; protected names that do not exist yet are only guarded at the top level")
    )
    state = "on" if is_on else "off (sandbox.enabled)"
    return [_ok("Sandbox", f"{state}; uses {support.way}{new_names}")]


def _helpers(scene: SecurityContext) -> Iterator[Check]:
    """Programs that bridle itself runs must not be the project's, nor others' to change."""
    writable = (scene.cwd, trust_root(scene.env, scene.cwd))
    found = {name: PROGRAMS.find(name, scene.env, writable=writable) for name in _HELPERS}
    found["rg"] = find_ripgrep(scene.env, writable=writable)
    for name, path in found.items():
        first = _which(name, scene.env)
        if path is not None:
            passed_over = name != "rg" and first not in (None, path)
            yield _ok("Programs", f"{name} at {path}" + (f"; {first} is not trusted" if passed_over else ""))
        elif first is not None:
            text = f"{name} is not used: other users or this session can change {first}"
            yield _fault(
                "Programs", text, ("fix the owner and mode of the file and its folders, or install another")
            )
    yield _ok("Programs", f"python at {sys.executable}")


def _trust(scene: SecurityContext) -> Iterator[Check]:
    root = trust_root(scene.env, scene.cwd)
    brought = brought_by(scene.env, scene.cwd)
    if not scene.trusted:
        waiting = f"; {len(brought)} of its settings and files are inactive" if brought else ""
        yield _ok("Trust", f"{root} is not trusted{waiting}")
        return
    yield _ok(
        "Trust",
        f"{root} is trusted"
        + (f", with {len(brought)} settings and files that need trust" if brought else ""),
    )
    changed = unapproved(scene.env, scene.cwd)
    places = {_place(each) for each in changed}
    for each in [each for each in brought if _place(each) not in places][:_MOST_SHOWN]:
        yield _ok("Trust", f"active: {_place(each)}")
    for each in changed[:_MOST_SHOWN]:
        text = f"inactive, new or changed: {_place(each)}"
        yield _warning("Trust", text, "review it, then approve it with bridle trust")
    for kind, names in sorted(approvals.approved(scene.env, scene.cwd).items()):
        yield _ok("Trust", f"approved {kind}: {len(names)}")


def _place(brought: TrustItem) -> str:
    line = "" if brought.line is None else f":{brought.line}"
    return f"{brought.key} ({brought.file}{line})"


def _rules(scene: SecurityContext) -> Iterator[Check]:
    for text in scene.complaints[:_MOST_SHOWN]:
        yield _warning("Rules", text, "fix or remove the rule")
    for finding in lint(scene.rules, KNOWN_NAMES)[:_MOST_SHOWN]:
        yield _warning("Rules", str(finding), "fix or remove the rule")
    for finding in broad(scene.rules)[:_MOST_SHOWN]:
        yield _warning("Rules", str(finding), "name specific commands, files or hosts")
    count = dict.fromkeys(("deny", "ask", "allow"), 0)
    for rule in scene.rules:
        count[rule.effect.value] += 1
    yield _ok("Rules", ", ".join(f"{number} {effect}" for effect, number in count.items()))


def _modes(scene: SecurityContext) -> Iterator[Check]:
    if scene.mode == "bypassPermissions":
        yield _warning("Modes", "sessions start in bypassPermissions", "change permissions.defaultMode")
    else:
        yield _ok("Modes", f"sessions start in {scene.mode}")
    permissions = scene.config.settings.permissions
    forbidden = permissions is not None and permissions.disable_bypass_permissions_mode == "disable"
    yield _ok("Modes", f"bypassPermissions is {'disabled' if forbidden else 'available on request'}")
    yield _ok("Modes", f"available modes: {', '.join(scene.modes)}")


def _environment(scene: SecurityContext) -> Iterator[Check]:
    """Names only: values are never shown."""
    seen = sorted(name for name, value in scene.env.items() if value and is_secret(name))
    if not seen:
        yield _ok("Environment", "no variables look like keys")
        return
    for name in seen[:_MOST_SHOWN]:
        origin = "" if name in scene.inherited else " (from settings)"
        text = f"{name}{origin} is visible to commands that you approve"
        remedy = "use bridle auth login instead, or hide it with sandbox.credentials.envVars"
        yield _warning("Environment", text, remedy)


def is_secret(name: str) -> bool:
    """Whether a variable looks as if it held a key."""
    return name not in _NOT_SECRET and any(part in name.upper() for part in _SECRET)


def _files(scene: SecurityContext) -> Iterator[Check]:
    looked = private_files.look(scene.env, scene.cwd)
    for path, problem, remedy in looked.wrong[:_MOST_SHOWN]:
        yield _fault("Files", f"{path} {problem}", remedy)
    if (more := len(looked.wrong) - _MOST_SHOWN) > 0:
        yield _fault("Files", f"{more} more files have open permissions", "fix these first")
    if not looked.wrong:
        yield _ok("Files", f"{looked.count} transcripts, settings and credentials are private")


def _remote(scene: SecurityContext) -> Iterator[Check]:
    settings = scene.config.settings
    if settings.disable_remote_control:
        yield _ok("Remote control", "off (disableRemoteControl)")
        return
    begins = "with every session" if settings.remote_control_at_startup else "on request"
    host = scene.listens.rpartition(":")[0]
    if host in ("127.0.0.1", "::1", "localhost"):
        yield _ok("Remote control", f"starts {begins} and listens on {host} only")
    else:
        text = f"starts {begins} and listens on {scene.listens}, which other machines can reach"
        yield _warning("Remote control", text, "unset BRIDLE_REMOTE_LISTEN, or use an encrypted tunnel")


def _defects(scene: SecurityContext) -> Iterator[Check]:
    path = os.path.join(bridle_dir(scene.env), DEFECTS)
    try:
        with open(path, "rb") as file:
            count = sum(1 for line in file if line.strip())
    except OSError:
        count = 0
    if count:
        text = (
            f"{counted(count, 'command')} did more than expected and {'was' if count == 1 else 'were'} "
            f"stopped: {path}"
        )
        yield _warning("Gate", text, "report them (bridle docs reporting), then remove the file")
    else:
        yield _ok("Gate", "no command did more than expected")


def _dependencies(scene: SecurityContext) -> Iterator[Check]:
    del scene
    said = advisories.known()
    if isinstance(said, str):
        yield _warning(
            "Dependencies", f"not audited: {said}", ("run pip install pip-audit in bridle's environment")
        )
        return
    for each in said[:_MOST_SHOWN]:
        yield _fault("Dependencies", f"{each.package} {each.version}: {each.id}", each.remedy)
    if not said:
        yield _ok("Dependencies", "pip-audit found no advisories")


_CHECKS: tuple[Callable[[SecurityContext], Iterator[Check]], ...] = (
    _helpers,
    _trust,
    _rules,
    _modes,
    _environment,
    _files,
    _remote,
    _defects,
    _dependencies,
)


def _which(name: str, env: Mapping[str, str]) -> str | None:
    for folder in env.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _ok(group: str, text: str) -> Check:
    return Check(group=group, health="ok", text=text)


def _warning(group: str, text: str, remedy: str) -> Check:
    return Check(group=group, health="warning", text=text, remedy=remedy)


def _fault(group: str, text: str, remedy: str) -> Check:
    return Check(group=group, health="fault", text=text, remedy=remedy)
