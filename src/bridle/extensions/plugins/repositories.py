"""Fetches git repositories in a way that runs nothing they bring: no hooks, filters or submodules."""

import asyncio
import os
import os.path
import re
import signal
from collections.abc import Mapping

from bridle.extensions.plugins.sources import Source
from bridle.host.programs import PROGRAMS, find_program
from bridle.types.errors import ConfigError
from bridle.types.variables import is_on

_SECONDS = 120.0
_KEPT = frozenset(
    {
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_GLOBAL",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSL_CAINFO",
    }
)
_OPTIONS = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=",
    "-c", "core.attributesFile=/dev/null",
    "-c", "submodule.recurse=false",
    "-c", "fetch.recurseSubmodules=false",
    "-c", "transfer.fsckObjects=true",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "advice.detachedHead=false",
)  # fmt: skip
# Above whatever attributes the repository has of its own.
_ATTRIBUTES = "* -filter -text -ident -eol -working-tree-encoding -merge -diff\n"
_LONGEST_SAID = 300


async def clone(source: Source, target: str, env: Mapping[str, str]) -> str:
    """Check out what a source names into a new folder; returns the commit.

    Raises:
        ConfigError: it cannot be fetched, or has no such branch, tag or commit.
    """
    faults: list[str] = []
    for number, address in enumerate(addresses(source, env)):
        place = target if not number else f"{target}.{number}"
        try:
            sha = await _check_out(source, address, place, env)
        except ConfigError as error:
            faults.append(str(error))
            continue
        if place != target:
            os.rename(target, f"{target}.failed")
            os.rename(place, target)
        return sha
    raise ConfigError("; ".join(faults))


def addresses(source: Source, env: Mapping[str, str]) -> tuple[str, ...]:
    """Where to try: a shorthand means GitHub, by https and then, unless that is unwanted, by ssh."""
    if not source.repository:
        return (source.location,)
    secure = f"https://github.com/{source.repository}.git"
    if is_on(env, "CLAUDE_CODE_PLUGIN_PREFER_HTTPS"):
        return (secure,)
    return (secure, f"git@github.com:{source.repository}.git")


async def _check_out(source: Source, address: str, target: str, env: Mapping[str, str]) -> str:
    git = _Git(address, target, env)
    os.makedirs(target)
    await git.run("init", "--quiet", "--template=")
    info = os.path.join(target, ".git", "info")
    os.makedirs(info, exist_ok=True)
    with open(os.path.join(info, "attributes"), "w", encoding="utf-8") as file:
        file.write(_ATTRIBUTES)
    wanted = source.sha or source.ref or "HEAD"
    try:
        await git.fetch("--depth=1", "--", address, wanted)
    except ConfigError:
        if not source.sha:
            raise
        # Not every host gives single commits; then its branches are fetched whole.
        await git.fetch("--", address, source.ref or "+refs/heads/*:refs/remotes/origin/*")
    commit = source.sha or "FETCH_HEAD"
    sha = (await git.run("rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}")).strip()
    if source.sha and sha != source.sha:
        raise ConfigError(f"{address} does not have the commit {source.sha}")
    await git.run("checkout", "--quiet", "--detach", "--force", sha)
    return sha


class _Git:
    def __init__(self, address: str, target: str, env: Mapping[str, str]) -> None:
        self._address = address
        self._target = target
        local = address.startswith("file://")
        own = {**PROGRAMS.environment(env), **{name: env[name] for name in _KEPT if name in env}}
        self._env = {
            **own,
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "file" if local else "https:http:ssh:git",
            "GIT_SSH_COMMAND": env.get("GIT_SSH_COMMAND") or "ssh -oBatchMode=yes",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_CEILING_DIRECTORIES": os.path.dirname(target),
        }
        self._seconds = _patience(env)

    async def fetch(self, *words: str) -> str:
        return await self.run("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *words)

    async def run(self, *words: str) -> str:
        program = _program(self._env, self._target)
        process = await asyncio.create_subprocess_exec(
            program,
            *_OPTIONS,
            *words,
            cwd=self._target,
            env=self._env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._seconds):
                out, said = await process.communicate()
        except TimeoutError as error:
            raise ConfigError(
                f"git timed out after {self._seconds:.0f} seconds on {self._address}"
            ) from error
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            text = re.sub(r"\s+", " ", said.decode(errors="replace")).strip()[:_LONGEST_SAID]
            raise ConfigError(f"git could not fetch {self._address}: {text}")
        return out.decode(errors="replace")


def _patience(env: Mapping[str, str]) -> float:
    given = env.get("CLAUDE_CODE_PLUGIN_GIT_TIMEOUT_MS", "")
    return int(given) / 1000 if given.isdecimal() and int(given) else _SECONDS


def _program(env: Mapping[str, str], target: str) -> str:
    if (found := find_program("git", env, writable=(target,))) is not None:
        return found
    raise ConfigError("git is not installed: install it, or use a folder or an archive instead")
