"""The boundary of a session as its tools see it."""

import os
import os.path
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from fnmatch import fnmatchcase
from typing import Protocol

from bridle.host.sandbox.authority import VARIABLES
from bridle.host.sandbox.domains import read_rules
from bridle.host.sandbox.masking.credentials import CredentialStore
from bridle.host.sandbox.policy import Policy
from bridle.host.sandbox.proxy import Proxy
from bridle.types.errors import ToolError
from bridle.types.sandbox import NOTHING_DENIED, Confined, Denials

_SEARCHED = 100_000
_MOST_HOSTS = 5
_REFUSALS = re.compile(
    r"Read-only file system|Operation not permitted|Permission denied|Device or resource busy"
    r"|Invalid cross-device link"
)
_CUT_OFF = re.compile(
    r"Could not resolve|Temporary failure in name resolution|Name or service not known"
    r"|Network is unreachable|No route to host|sandbox does not let commands reach"
)
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Walls(Protocol):
    """What really holds a command."""

    ports: tuple[int, int] | None
    """Where commands find the HTTP and the SOCKS proxy; None when there is no way out."""

    def wrap(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        keep: tuple[int, ...],
        denials: Denials = NOTHING_DENIED,
        search: str = "",
    ) -> tuple[str, ...]: ...

    async def close(self) -> None: ...


class Confinement:
    """Runs commands inside walls; without walls, it runs none."""

    def __init__(
        self,
        policy: Policy,
        *,
        walls: Walls | None,
        fault: str,
        temporary: str,
        proxy: Proxy | None,
        excluded: tuple[str, ...] = (),
        may_be_left: bool = True,
        ignored: Mapping[str, Sequence[str]] | None = None,
        vault: CredentialStore | None = None,
        roots_file: str | None = None,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._policy = policy
        self._denials = NOTHING_DENIED
        self._walls = walls
        self._fault = fault
        self._temporary = temporary
        self._proxy = proxy
        self._excluded = excluded
        self._may_be_left = may_be_left
        self._ignored = ignored or {}
        self._vault = vault
        self._roots_file = roots_file
        """Certificates that commands are to believe, when the proxy looks into what they send."""
        self._on_close = on_close

    @property
    def may_be_left(self) -> bool:
        return self._may_be_left

    def covers(self, command: str) -> bool:
        return not is_excluded(command, self._excluded)

    def confine(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], pass_fds: tuple[int, ...] = ()
    ) -> Confined:
        if self._walls is None:
            raise ToolError(f"Commands must run in a sandbox, but it can't be set up: {self._fault}.")
        return Confined(
            argv=self._walls.wrap(
                argv, cwd=cwd, keep=pass_fds, denials=self._denials, search=env.get("PATH", "")
            ),
            env=self._environment(env, self._walls.ports),
            pass_fds=pass_fds,
        )

    def under(self, denials: Denials) -> "Confinement":
        if self._proxy is not None:
            self._proxy.gate.deny(denials.hosts)
        narrower = copy(self)
        narrower._denials = denials
        return narrower

    def annotate(self, output: str, *, failed: bool, command: str = "") -> str:
        refused = self._proxy.gate.take_refusals() if self._proxy else ()
        if not failed:
            return ""
        seen = self._without_ignored(output[-_SEARCHED:], command)
        if refused:
            hosts = ", ".join(refused[:_MOST_HOSTS])
            return f"The sandbox refused connections to {hosts}.{self._way_out('reach them')}"
        if _CUT_OFF.search(seen):
            return (
                f"Commands in the sandbox reach the network only through its proxy.{self._way_out('connect')}"
            )
        if _REFUSALS.search(seen):
            return (
                "This may be the sandbox: commands can write only below the working directories and $TMPDIR, "
                f"and not to protected files such as .git or .claude.{self._way_out('do this')}"
            )
        return ""

    async def close(self) -> None:
        if self._walls is not None:
            await self._walls.close()
        if self._proxy is not None:
            await self._proxy.close()
        self._on_close()

    def _way_out(self, wish: str) -> str:
        if not self._may_be_left:
            return ""
        return (
            f" If the task needs to {wish}, run it again with dangerouslyDisableSandbox; the user is asked."
        )

    def _without_ignored(self, output: str, command: str) -> str:
        for part, texts in self._ignored.items():
            if part == "*" or part in command:
                for text in texts:
                    output = "\n".join(line for line in output.splitlines() if text not in line)
        return output

    def _environment(self, env: Mapping[str, str], ports: tuple[int, int] | None) -> dict[str, str]:
        shown = env if self._vault is None else self._vault.environment(env)
        kept = {name: value for name, value in shown.items() if name not in self._policy.hidden_variables}
        kept |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), self._temporary_for(env.get("BRIDLE_AGENT_ID", "")))
        kept["SANDBOX_RUNTIME"] = "1"
        if ports is None:
            return kept
        http, socks = f"http://127.0.0.1:{ports[0]}", f"socks5h://127.0.0.1:{ports[1]}"
        kept |= dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"), http)
        kept |= dict.fromkeys(("ALL_PROXY", "all_proxy"), socks)
        kept |= dict.fromkeys(("NO_PROXY", "no_proxy"), self._direct_hosts())
        kept["NODE_USE_ENV_PROXY"] = "1"
        if self._roots_file is not None:
            kept |= dict.fromkeys(VARIABLES, self._roots_file)
        return kept

    def _temporary_for(self, agent_id: str) -> str:
        """Where a command keeps what it needs for a while: agents have a folder of their own there."""
        if not agent_id.isalnum():
            return self._temporary
        folder = os.path.join(self._temporary, agent_id)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder

    def _direct_hosts(self) -> str:
        """The command's own machine, except for what the user opened on the real one."""
        opened = {rule.host for rule in read_rules(self._policy.network).allowed}
        return ",".join(host for host in _LOCAL if host not in opened)


_OPERATORS = re.compile(r"&&|\|\||[;|&\n(){}`]|\$\(")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_HIJACKS = re.compile(r"(?:LD_|DYLD_)|PATH\+?=")
"""Variables that make another program of a name."""
_WRAPPERS = frozenset(
    ("command", "env", "exec", "nice", "nohup", "setsid", "stdbuf", "sudo", "time", "timeout")
)
_NOT_A_NAME = re.compile(r"-|\d+(?:\.\d+)?[smhd]?$")


def is_excluded(command: str, patterns: Iterable[str]) -> bool:
    """Whether any part of a command is one that a pattern names: `exact`, `prefix:*`, `prefix *`, `a * b`."""
    wanted = [" ".join(pattern.split()) for pattern in patterns if pattern.strip()]
    return bool(wanted) and any(_matches(text, pattern) for text in _parts(command) for pattern in wanted)


def _matches(text: str, pattern: str) -> bool:
    if pattern.endswith((":*", " *")):
        stem = pattern[:-2]
        return text == stem or fnmatchcase(text, _glob(stem)) or fnmatchcase(text, f"{_glob(stem)} *")
    if "*" not in pattern:
        return text == pattern or text.startswith(f"{pattern} ")
    return fnmatchcase(text, _glob(pattern))


def _parts(command: str) -> Iterator[str]:
    for part in _OPERATORS.split(command):
        words = _words(part)
        while words:
            yield " ".join(words)
            if _ASSIGNMENT.match(words[0]) and not _HIJACKS.match(words[0]):
                words = words[1:]
            elif os.path.basename(words[0]) in _WRAPPERS:
                words = words[1:]
                while words and _NOT_A_NAME.match(words[0]):
                    words = words[1:]
            else:
                break


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return part.split()


def _glob(pattern: str) -> str:
    return re.sub(r"[?\[]", lambda found: f"[{found[0]}]", pattern)
