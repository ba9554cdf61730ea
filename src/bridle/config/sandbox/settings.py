"""Reads the sandbox that the settings ask for."""

import os.path
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from glob import glob, has_magic
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.config.load import Config
from bridle.config.sandbox.credentials import read_credentials
from bridle.config.sandbox.layers import collect, scope_of
from bridle.config.sandbox.masking import Masking, set_up_masking
from bridle.config.sandbox.schema import Sandbox as Settings
from bridle.config.sandbox.schema import SandboxNetwork
from bridle.host.paths import bridle_dir, config_home, global_state_file
from bridle.host.sandbox.bubblewrap import find_bubblewrap
from bridle.host.sandbox.confinement import Confinement, Walls
from bridle.host.sandbox.linux import LinuxWalls, find_support
from bridle.host.sandbox.masking.settings import MaskingSettings
from bridle.host.sandbox.policy import Network, Policy
from bridle.host.sandbox.private_dir import PrivateDir, close_private_dir, open_private_dir
from bridle.host.sandbox.proxy import Gate, Proxy
from bridle.host.sandbox.seatbelt import PROGRAM, SeatbeltWalls
from bridle.host.sandbox.upstream_proxy import upstream_problem
from bridle.types.errors import ConfigError
from bridle.types.question import Answer, NetworkQuestion
from bridle.types.sandbox import Sandbox

_FETCHES = re.compile(r"WebFetch\(domain:([^\s()]+)\)")


class SandboxSettings(Struct, frozen=True, kw_only=True):
    """What the settings ask for, before it is known whether this machine can do it."""

    policy: Policy
    masks: MaskingSettings = MaskingSettings()
    problems: tuple[str, ...] = ()


async def make_sandbox(
    config: Config,
    *,
    cwd: str,
    env: Mapping[str, str],
    roots: Callable[[], tuple[str, ...]],
    ask: Callable[[NetworkQuestion], Awaitable[Answer]],
    warn: Callable[[str], None],
    platform: str = sys.platform,
) -> Sandbox | None:
    """The boundary of a session, None when the settings do not turn it on; closed with the session.

    Raises:
        ConfigError: it must be available and is not.
    """
    settings = config.settings.sandbox
    if settings is None or not settings.enabled:
        return None
    wish = read_policy(config, cwd=cwd, env=env)
    for problem in wish.problems:
        warn(problem)
    private = open_private_dir(env)
    tls = settings.network.tls_terminate if settings.network is not None else None
    proxy: Proxy | None = None
    masking: Masking | None = None
    try:
        masking = set_up_masking(wish.masks, tls, private=private, env=env, warn=warn)
    except ConfigError as error:
        walls: Walls | str = str(error)
    else:
        if wish.policy.network.mode == "proxy":
            proxy = Proxy(Gate(wish.policy.network, ask, env=env), masking.interceptor)
        walls = await _build(
            wish, settings, private, platform, roots=roots, env=env, proxy=proxy, masking=masking, warn=warn
        )
    if isinstance(walls, str):
        if settings.fail_if_unavailable:
            close_private_dir(private)
            raise ConfigError(
                f"The sandbox is not available ({walls}). Fix this, install bubblewrap, or set "
                "sandbox.failIfUnavailable to false."
            )
        warn(f"sandbox: not available, so commands will be denied: {walls}")
    elif walls.ports is None and proxy is not None:
        warn("sandbox: without namespaces commands have no network at all, not even the allowed domains")
    return Confinement(
        wish.policy,
        walls=None if isinstance(walls, str) else walls,
        fault=walls if isinstance(walls, str) else "",
        temporary=private.temporary,
        proxy=proxy,
        excluded=settings.excluded_commands or (),
        may_be_left=settings.allow_unsandboxed_commands is not False,
        ignored=settings.ignore_violations,
        vault=masking.vault if masking is not None else None,
        roots_file=masking.roots_file if masking is not None else None,
        on_close=lambda: close_private_dir(private),
    )


def sandbox_for_programs(config: Config, sandbox: Sandbox | None) -> Sandbox | None:
    """What hooks and stdio servers run in: the same boundary when any `sandbox.scope` is `all`, else none."""
    return sandbox if any(scope_of(layer) == "all" for layer in config.layers) else None


def read_policy(config: Config, *, cwd: str, env: Mapping[str, str]) -> SandboxSettings:
    """Everything that the layers of settings say about what commands may touch."""
    settings = config.settings.sandbox or Settings()
    filesystem = settings.filesystem
    paths = _Paths(config, cwd=cwd, env=env)
    credentials = read_credentials(config, paths.resolved)
    managed_reads = filesystem is not None and filesystem.allow_managed_read_paths_only is True
    policy = Policy(
        writable=paths.listed("allowWrite"),
        never_writable=(
            *paths.listed("denyWrite"),
            config_home(env),
            global_state_file(env),
            bridle_dir(env),
            config.inputs.managed_dir,
        ),
        unreadable=tuple(dict.fromkeys((*paths.listed("denyRead"), *credentials.hidden_files))),
        readable_again=paths.listed("allowRead", managed_only=managed_reads),
        hidden_variables=credentials.hidden_variables,
        network=_network(config, settings),
        filesystem=not (filesystem is not None and filesystem.disabled),
        weaker_nesting=settings.enable_weaker_nested_sandbox is True,
        apple_events=settings.allow_apple_events is True,
    )
    problems = [*credentials.problems, *_without_effect(settings, credentials.wishes)]
    if problem := upstream_problem(env):
        problems.append(f"sandbox: {problem}")
    return SandboxSettings(policy=policy, masks=credentials.wishes, problems=tuple(problems))


def _without_effect(settings: Settings, masks: MaskingSettings) -> Iterator[str]:
    """A line for each thing that is asked for and cannot come about, with what to set for it."""
    network = settings.network or SandboxNetwork()
    if not masks.variables and not masks.files:
        return
    if network.tls_terminate is None and not masks.plaintext:
        yield (
            "sandbox.credentials: requests do not get masked values, because the proxy cannot decrypt "
            "them; set sandbox.network.tlsTerminate to {}"
        )
    if network.http_proxy_port is not None:
        yield "sandbox.credentials: your own proxy at sandbox.network.httpProxyPort gets placeholders only"
    if masks.files and settings.filesystem is not None and settings.filesystem.disabled:
        yield "sandbox.credentials.files: nothing is masked while sandbox.filesystem.disabled is set"


def _network(config: Config, settings: Settings) -> Network:
    given = settings.network or SandboxNetwork()
    managed_only = given.allow_managed_domains_only is True
    allowed = [text for _, text in collect(config, ("network", "allowedDomains"), managed_only=managed_only)]
    # An empty list says that nothing is allowed; only a missing one leaves room for questions.
    closed = given.allowed_domains == ()
    strict = given.strict_allowlist is True or managed_only or closed
    allowed += () if closed else _ruled_domains(config, "allow", managed_only=managed_only)
    own_proxy = given.http_proxy_port is not None or given.socks_proxy_port is not None
    return Network(
        mode="off" if strict and not allowed and not own_proxy else "proxy",
        allowed=tuple(dict.fromkeys(allowed)),
        denied=tuple(dict.fromkeys((*(given.denied_domains or ()), *_ruled_domains(config, "deny")))),
        strict=strict,
        all_unix_sockets=given.allow_all_unix_sockets is True,
        unix_sockets=given.allow_unix_sockets or (),
        local_binding=given.allow_local_binding is True,
        mach_lookup=given.allow_mach_lookup or (),
        weaker=settings.enable_weaker_network_isolation is True,
        http_port=given.http_proxy_port,
        socks_port=given.socks_proxy_port,
    )


def _ruled_domains(config: Config, effect: str, *, managed_only: bool = False) -> Iterator[str]:
    """The hosts that rules for fetching name: what may be fetched may be reached, and the other way round."""
    for layer in config.layers:
        permissions: Any = layer.values.get("permissions")
        listed: Any = permissions.get(effect) if isinstance(permissions, dict) else None
        if managed_only and layer.source != "policySettings":
            continue
        for rule in listed if isinstance(listed, list | tuple) else ():
            if isinstance(rule, str) and (found := _FETCHES.fullmatch(rule.strip())):
                yield found[1]


class _Paths:
    """Reads path lists of `sandbox.filesystem`, each entry relative to where it was written."""

    def __init__(self, config: Config, *, cwd: str, env: Mapping[str, str]) -> None:
        self._config = config
        self._cwd = cwd
        self._user = config.inputs.home
        self._home = env.get("HOME") or os.path.expanduser("~")

    def listed(self, key: str, *, managed_only: bool = False) -> tuple[str, ...]:
        found = collect(self._config, ("filesystem", key), managed_only=managed_only)
        writes = key.endswith("Write")
        paths = [path for source, text in found for path in self.resolved(source, text, globs=not writes)]
        return tuple(dict.fromkeys(paths))

    def resolved(self, source: str, text: str, *, globs: bool = True) -> Iterator[str]:
        """The paths that an entry means; wildcards mean what is there now."""
        plain = text.removesuffix("/**").rstrip("/") or "/"
        if plain == "~" or plain.startswith("~/"):
            plain = self._home + plain[1:]
        base = self._user if source == "userSettings" else self._cwd
        path = os.path.normpath(os.path.join(base, plain))
        if not has_magic(path):
            yield path
        elif globs:
            yield from glob(path, recursive=True, include_hidden=True)


async def _build(
    wish: SandboxSettings,
    settings: Settings,
    private: PrivateDir,
    platform: str,
    *,
    roots: Callable[[], tuple[str, ...]],
    env: Mapping[str, str],
    proxy: Proxy | None,
    masking: Masking,
    warn: Callable[[str], None],
) -> Walls | str:
    """The walls, or why there are none."""
    policy = wish.policy
    if platform == "darwin":
        if not os.access(PROGRAM, os.X_OK):
            return f"{PROGRAM} is missing"
        # A profile cannot put another file in the place of one.
        masked = tuple(file.path for file in wish.masks.files)
        policy = replace(policy, unreadable=(*policy.unreadable, *masked))
        return SeatbeltWalls(policy, roots=roots, temporary=private.temporary, proxy=proxy)
    if platform != "linux":
        return f"not supported on {platform}"
    bubblewrap = find_bubblewrap(settings.bwrap_path)
    support = await find_support(policy, private=private, bubblewrap=bubblewrap)
    if isinstance(support, str):
        return support
    if policy.filesystem and not support.oversees:
        warn(
            "sandbox: this kernel does not report new files, so new protected names are only guarded "
            "at the top of the working folders"
        )
    return LinuxWalls(
        policy,
        support.way,
        oversees=support.oversees,
        private=private,
        roots=roots,
        registry=os.path.join(bridle_dir(env), "sandbox"),
        proxy=proxy,
        bubblewrap=bubblewrap,
        copies=masking.copies,
    )
