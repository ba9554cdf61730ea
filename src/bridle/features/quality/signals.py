"""Which signs of trouble a turn shows, and the file that counts them; what the user wrote is not kept."""

import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.paths import bridle_dir
from bridle.types.block import text_of
from bridle.types.turn import Outcome, Prompt

Sign = Literal["frustrated", "repeated", "interrupted", "refused", "failed", "pull_request"]

_FILE = "quality.jsonl"
_LARGEST = 1_000_000
_LOOKED_AT = 300
"""Characters of a prompt that say how the user feels."""
_COMPLAINTS = (
    r"wtf|ffs|damn(it)?|bullshit|shit|fuck\w*|argh+|ugh+|useless|garbage|terrible|ridiculous|stupid|idiot\w*",
    r"nonsense|you (keep|broke|ignored)|stop (doing|changing|ignoring)|i (already|just) (said|to[l]d)",
    r"(read|listen) (again|to me)|still (does ?n.t|not|broken|fails?|failing|wrong)",
    r"not what i (asked|meant|wanted)|that.s wrong( again)?|wrong again|how (many|often) (times|do i)",
    r"verdammt|schei(ß|ss)\w*|immer noch (nicht|kaputt|falsch)",
)
_FRUSTRATED = re.compile(rf"\b({'|'.join(_COMPLAINTS)})\b|[?!]{{3,}}", re.IGNORECASE)
_PULL_REQUEST = re.compile(
    r"\b(open|create|make|send|push|raise|submit|file)\b[^.?!\n]{0,40}\b(pull request|pr|merge request|mr)\b",
    re.IGNORECASE,
)
_LEAST_REPEATED = 12
_LOUD = 20


class Signs(Struct, frozen=True):
    """What was counted over some days."""

    counts: Mapping[str, int]
    sessions: int
    """How many sessions had any sign of trouble."""


class _Row(Struct, frozen=True):
    time: float
    session: str
    project: str
    signs: tuple[str, ...]


def words_of(prompt: Prompt) -> str:
    """What a person wrote, in the length that counts; empty where it was a program."""
    if prompt.meta or prompt.verbatim:
        return ""
    content = prompt.content
    return (content if isinstance(content, str) else text_of(content)).strip()[:_LOOKED_AT]


def signs_of(words: str, before: str, outcome: Outcome) -> tuple[Sign, ...]:
    """The signs of one turn: in the prompt, and in how it ended."""
    letters = [each for each in words if each.isalpha()]
    is_loud = len(letters) >= _LOUD and all(each.isupper() for each in letters)
    again = len(words) >= _LEAST_REPEATED and _bare(words) == _bare(before)
    found: dict[Sign, bool] = {
        "frustrated": is_loud or _FRUSTRATED.search(words) is not None,
        "repeated": again,
        "interrupted": outcome.reason in ("aborted_streaming", "aborted_tools"),
        "refused": bool(outcome.denials),
        "failed": outcome.is_error and outcome.reason not in ("aborted_streaming", "aborted_tools"),
        "pull_request": _PULL_REQUEST.search(words) is not None,
    }
    return tuple(sign for sign, is_there in found.items() if is_there)


def keep(env: Mapping[str, str], session: str, project: str, signs: Sequence[Sign]) -> None:
    """Add a row to the file; one that cannot be written is not worth a word."""
    path = os.path.join(bridle_dir(env), _FILE)
    row = msgspec.json.encode(_Row(time.time(), session, project, tuple(signs))) + b"\n"
    try:
        make_folders(os.path.dirname(path), private=True)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "ab") as out:
            out.write(row)
            size = out.tell()
        if size > _LARGEST:
            data = read_bytes(path, 2 * _LARGEST)
            write_atomic(path, data[len(data) // 2 :].partition(b"\n")[2], mode=0o600)
    except OSError:
        pass


def read_signs(env: Mapping[str, str], *, since: float) -> Signs:
    """What was counted since a time; rows that cannot be read are left out."""
    try:
        data = read_bytes(os.path.join(bridle_dir(env), _FILE), 2 * _LARGEST)
    except OSError:
        return Signs({}, 0)
    counts, troubled = Counter[str](), set[str]()
    for line in data.splitlines():
        try:
            row = msgspec.json.decode(line, type=_Row)
        except msgspec.DecodeError:
            continue
        if row.time >= since:
            counts.update(row.signs)
            if set(row.signs) - {"pull_request"}:
                troubled.add(row.session)
    return Signs(dict(counts), len(troubled))


def _bare(words: str) -> str:
    return re.sub(r"\W+", " ", words).strip().lower()
