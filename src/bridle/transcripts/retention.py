"""Removes the transcripts of sessions that have not been used for `cleanupPeriodDays`."""

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping

from bridle.host.paths import config_home, projects_dir

_DAY = 24 * 60 * 60
_STAMP = ".bridle-cleanup"
"""Its time of change says when old sessions were looked for last: once a day is enough."""
_TRANSCRIPT = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\.jsonl")


def remove_old_sessions(
    env: Mapping[str, str], *, days: Callable[[], int], now: float | None = None
) -> list[str]:
    """Remove what is too old, at most once a day and never on the first one; what was removed.

    When the last look is longer ago than the period, the clock may have jumped: then only what was too old at
    that look goes, and the rest the next day. What cannot be removed stays: the next day tries again.
    """
    now = time.time() if now is None else now
    home = config_home(env)
    if (last := _last_look(os.path.join(home, _STAMP), now)) is None:
        return []
    period = days() * _DAY
    before = (now if now - last <= period else last) - period
    removed = [path for path in _transcripts(projects_dir(env)) if _remove(path, before=before)]
    for path in removed:
        beside = path.removesuffix(".jsonl")
        for folder in (beside, os.path.join(home, "file-history", os.path.basename(beside))):
            if not os.path.islink(folder):
                _remove_folder(folder)
    return removed


def _last_look(stamp: str, now: float) -> float | None:
    """When old sessions were looked for last; None where it is not yet time to look again."""
    try:
        last = os.stat(stamp).st_mtime
        due = not now - _DAY < last <= now
    except FileNotFoundError:
        due, last = False, None
    except OSError:
        return None
    if due or last is None:
        try:
            with open(stamp, "ab"):
                os.utime(stamp, (now, now))
        except OSError:
            return None  # Where nothing can be written, nothing can be removed either.
    return last if due else None


def _transcripts(projects: str) -> Iterator[str]:
    for folder in _names(projects):
        place = os.path.join(projects, folder)
        if not os.path.islink(place):
            yield from (os.path.join(place, name) for name in _names(place) if _TRANSCRIPT.fullmatch(name))


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _remove_folder(folder: str) -> None:
    import shutil  # On most days nothing is old enough.

    shutil.rmtree(folder, ignore_errors=True)


def _remove(path: str, *, before: float) -> bool:
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_mtime >= before:
            return False
        os.unlink(path)
    except OSError:
        return False
    return True
