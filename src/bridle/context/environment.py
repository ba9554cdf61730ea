"""Facts about the machine and the project that a model cannot guess."""

import os
import sys
import time
from collections.abc import Callable, Mapping

from msgspec import Struct

from bridle.host.git import repository as git
from bridle.types.text import one_line

_MOST_ROOTS = 50


class Environment(Struct, frozen=True, kw_only=True):
    """Gathered once when a session opens, so that what is sent stays the same to the byte."""

    cwd: str
    extra_roots: tuple[str, ...] = ()
    repository: bool
    platform: str
    os_version: str
    shell: str
    date: str
    model: str


def gather_environment(
    cwd: str,
    *,
    model: str,
    env: Mapping[str, str],
    extra_roots: tuple[str, ...] = (),
    clock: Callable[[], float] = time.time,
) -> Environment:
    """The facts as they are now, without starting a process."""
    system = os.uname()
    return Environment(
        cwd=cwd,
        extra_roots=extra_roots,
        repository=git.find_root(cwd) is not None,
        platform=sys.platform,
        os_version=f"{system.sysname} {system.release}",
        shell=os.path.basename(env.get("SHELL", "")) or "sh",
        date=time.strftime("%Y-%m-%d", time.localtime(clock())),
        model=model,
    )


def describe_environment(environment: Environment) -> str:
    """The facts as the model reads them, one per line."""
    roots = environment.extra_roots
    more = [f"Additional working directory: {one_line(root)}" for root in roots[:_MOST_ROOTS]]
    if len(roots) > _MOST_ROOTS:
        more.append(f"({len(roots) - _MOST_ROOTS} more additional working directories)")
    return "\n".join(
        [
            f"Working directory: {one_line(environment.cwd)}",
            *more,
            f"Git repository: {'yes' if environment.repository else 'no'}",
            f"Platform: {environment.platform} ({one_line(environment.os_version, 100)})",
            f"Shell: {one_line(environment.shell, 100)}",
            f"Session start date: {environment.date}",
            f"Model: {one_line(environment.model, 200)}",
        ]
    )
