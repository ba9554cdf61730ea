"""A log of commands that tried more than the gate had judged: each is a defect of the gate."""

import fcntl
import json
import os
import os.path
import re
import time
from collections.abc import Mapping

from bridle.host.files import make_folders
from bridle.types.sandbox import Refusal
from bridle.version import __version__

NAME = "gate-defects.jsonl"
_MOST_BYTES = 256 * 1024
_LONGEST = 4_000
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"(?:sk|pk|gh[pousr]|xox[abp]|AKIA|ASIA|glpat|AIza|eyJ)[-_]?[A-Za-z0-9_.=/+-]{12,}|[A-Za-z0-9+_-]{40,}={0,2}"
)
_ASSIGNED = re.compile(r"(?i)((?:key|token|secret|password|passwd|pwd|auth)\w*\s*[=:]\s*)\S+")


def keep_defect(
    folder: str, *, command: str, judged: str, refusal: Refusal, env: Mapping[str, str]
) -> str | None:
    """Add a case to the log, for the user alone; the file, or None when it cannot be written.

    The log stays small: when it is full, the older half goes.
    """
    path = os.path.join(folder, NAME)
    line = json.dumps({
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "version": __version__,
        "kernel": " ".join((os.uname().sysname, os.uname().release, os.uname().machine)),
        "judged": judged,
        "refused": _clean(refusal.deed, env),
        "call": refusal.call,
        "command": _clean(command, env),
    })  # fmt: skip
    try:
        make_folders(folder, private=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(path, flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.fchmod(file, 0o600)
        if os.fstat(file).st_size > _MOST_BYTES:
            kept = os.pread(file, _MOST_BYTES, os.fstat(file).st_size - _MOST_BYTES // 2).partition(b"\n")[2]
            os.ftruncate(file, 0)
            os.write(file, kept)
        os.write(file, f"{line}\n".encode())
    except OSError:
        return None
    finally:
        os.close(file)
    return path


def _clean(text: str, env: Mapping[str, str]) -> str:
    """The text without what looks like a secret, and without the values of variables that hold one."""
    for name, value in env.items():
        if len(value) >= 8 and _SECRET_NAME.search(name):
            text = text.replace(value, "…")
    text = _ASSIGNED.sub(r"\1…", _SECRET_VALUE.sub("…", text))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
