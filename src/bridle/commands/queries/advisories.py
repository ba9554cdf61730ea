"""What pip-audit knows about the packages that bridle runs with."""

import os
import re
import subprocess
import sys
from typing import Any

import msgspec
from msgspec import Struct

from bridle.host.programs import PROGRAMS

_SECONDS = 60
_MISSING = "pip-audit is not installed"


class Advisory(Struct, frozen=True):
    package: str
    version: str
    id: str
    remedy: str


class _Vulnerability(Struct):
    id: str
    fix_versions: list[str] = []


class _Package(Struct):
    name: str
    version: str = ""
    vulns: list[_Vulnerability] = []
    skip_reason: str | None = None
    """Why it was not looked up."""


class _Report(Struct):
    dependencies: list[_Package] = []


def known(*, python: str = sys.executable) -> tuple[Advisory, ...] | str:
    """Advisories about what bridle needs, or a sentence why they are unknown."""
    program = os.path.join(os.path.dirname(python), "pip-audit")
    if not PROGRAMS.is_safe(program):
        return _MISSING
    argv = (program, "--local", "--format", "json", "--progress-spinner", "off", "--timeout", "10")
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False, cwd="/",
            env=PROGRAMS.environment(os.environ),
        )  # fmt: skip
        report = msgspec.json.decode(done.stdout, type=_Report)
    except (OSError, subprocess.TimeoutExpired, msgspec.DecodeError):
        return "pip-audit could not download its data"
    needed = dependencies("bridle") - {"bridle"}
    packages = [each for each in report.dependencies if _plain(each.name) in needed]
    if all(each.skip_reason is not None for each in packages):
        return "pip-audit could not download its data"
    return tuple(
        Advisory(package.name, package.version, each.id, _remedy(package.name, each.fix_versions))
        for package in packages
        for each in package.vulns
    )


def dependencies(name: str) -> frozenset[str]:
    """A package and all that it needs, as far as it is installed."""
    from importlib import metadata

    found: set[str] = set()
    waiting = [name]
    while waiting:
        if (each := _plain(waiting.pop())) in found:
            continue
        found.add(each)
        try:
            needs: list[Any] = metadata.requires(each) or []
        except metadata.PackageNotFoundError:
            continue
        waiting += [
            re.split(r"[^A-Za-z0-9._-]", str(need), maxsplit=1)[0] for need in needs if "extra ==" not in need
        ]
    return frozenset(found)


def _remedy(package: str, fixed: list[str]) -> str:
    return f"pip install '{package}>={fixed[0]}'" if fixed else "no fixed version yet"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
