"""What is remembered from session to session: an index, and a file for each topic."""

import os
import re
import time
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bridle.context.memory_folder import INDEX, memory_folder
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.lock import FileLock
from bridle.types.text import one_line

MOST_LINES = 200
MOST_BYTES = 25_000
_LARGEST_FILE = 1_000_000
_LARGEST_TOPIC = 20_000
_MOST_TOPICS = 200

TopicKind = Literal["user", "feedback", "project", "reference"]
KINDS: tuple[TopicKind, ...] = ("user", "feedback", "project", "reference")

_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bsk-[A-Za-z0-9_-]{20,}|"
    r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bxox[baprs]-[A-Za-z0-9-]{10,}|\beyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}\."
)


class Topic(Struct, frozen=True, kw_only=True):
    """Something worth knowing next time."""

    name: str
    description: str
    """One line for the index."""
    kind: TopicKind
    body: str
    modified: str = ""
    file: str = ""


class Memory(Struct, frozen=True, kw_only=True):
    """The index as a session gets it."""

    text: str = ""
    cut: bool = False
    problems: tuple[str, ...] = ()


def load_memory(folder: str) -> Memory:
    """The index, cut to what a session may be given; a file that cannot be used is named and left out."""
    path = os.path.join(folder, INDEX)
    try:
        text = read_bytes(path, _LARGEST_FILE).decode()
    except FileNotFoundError:
        return Memory()
    except (OSError, UnicodeDecodeError) as error:
        return Memory(problems=(f"Skipped {path}: {error}",))
    lines = text.splitlines()
    shown = "\n".join(lines[:MOST_LINES])
    cut = len(lines) > MOST_LINES
    if len(data := shown.encode()) > MOST_BYTES:
        shown, cut = data[:MOST_BYTES].decode(errors="ignore").rpartition("\n")[0], True
    return Memory(text=shown.strip(), cut=cut)


def memory_text(folder: str, memory: Memory) -> str | None:
    """What stands before the first prompt; None when there is nothing to say."""
    if not memory.text:
        return None
    rest = f"\n\n(Only the beginning of {os.path.join(folder, INDEX)} is shown.)" if memory.cut else ""
    return f"{_OPENING.format(folder=folder)}\n\n{memory.text}{rest}"


def topics(folder: str) -> tuple[list[Topic], list[str]]:
    """Every topic, newest first, and sentences about files that make no sense."""
    found: list[Topic] = []
    problems: list[str] = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return [], []
    for name in names[:_MOST_TOPICS]:
        if name == INDEX or not name.endswith(".md"):
            continue
        path = os.path.join(folder, name)
        try:
            topic = read_topic(read_bytes(path, _LARGEST_FILE).decode(), name)
        except (OSError, UnicodeDecodeError, ValueError) as error:
            problems.append(f"Skipped {path}: {error}")
        else:
            found.append(topic)
    return sorted(found, key=lambda topic: topic.modified, reverse=True), problems


def read_topic(text: str, file: str) -> Topic:
    """A topic file taken apart.

    Raises:
        ValueError: it has no head, or one that names no kind.
    """
    match = re.match(r"---\r?\n(.*?)\r?\n---\r?\n?(.*)", text, re.DOTALL)
    if match is None:
        raise ValueError("it does not start with a header between --- lines")
    head = dict(line.split(":", 1) for line in match[1].splitlines() if ":" in line)
    given = {key.strip(): value.strip().strip("\"'") for key, value in head.items()}
    kind = find_kind(given.get("type"))
    if kind is None:
        raise ValueError(f"its type is not one of {', '.join(KINDS)}")
    return Topic(
        name=given.get("name") or file.removesuffix(".md"),
        description=given.get("description", ""),
        kind=kind,
        body=match[2].strip(),
        modified=given.get("modified", ""),
        file=file,
    )


def find_kind(name: object) -> TopicKind | None:
    """The kind of topic with this name."""
    kinds: dict[object, TopicKind] = {kind: kind for kind in KINDS}
    return kinds.get(name)


def save_topic(folder: str, topic: Topic) -> str:
    """Write a topic, in place of one with the same name, and its line in the index; returns the file's name.

    Raises:
        ValueError: it holds what looks like a secret, or nothing.
        OSError: it cannot be written.
    """
    if not topic.body.strip() or not topic.name.strip():
        raise ValueError("nothing to save")
    if _SECRET.search(f"{topic.description}\n{topic.body}"):
        raise ValueError("it contains something that looks like a key or a password")
    make_folders(folder, private=True)
    file = topic.file or f"{topic.kind}_{_slug(topic.name)}.md"
    name, description = one_line(topic.name, 100), one_line(topic.description, 200)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    head = f"---\nname: {name}\ndescription: {description}\ntype: {topic.kind}\nmodified: {stamp}\n---\n\n"
    with FileLock(os.path.join(folder, ".lock")):
        body = topic.body.strip()[:_LARGEST_TOPIC]
        write_atomic(os.path.join(folder, file), f"{head}{body}\n".encode(errors="replace"), mode=0o600)
        _index(folder, file, f"- [{name}]({file}): {description}")
    return file


def add_line(path: str, text: str) -> None:
    """Quick add: put one line at the end of a memory or instruction file.

    Raises:
        ValueError: there is nothing to add, or it looks like a secret.
        OSError: it cannot be written.
    """
    line = " ".join(text.split())
    if not line:
        raise ValueError("nothing to save")
    if _SECRET.search(line):
        raise ValueError("it looks like a key or a password")
    make_folders(os.path.dirname(path), private=False)
    try:
        old = read_bytes(path, _LARGEST_FILE).decode(errors="surrogateescape")
    except FileNotFoundError:
        old = ""
    gap = "" if not old or old.endswith("\n") else "\n"
    write_atomic(path, f"{old}{gap}- {line}\n".encode(errors="surrogateescape"))


def quick_places(cwd: str, env: Mapping[str, str], home: str) -> dict[str, str]:
    """Where a quick note can go: the project's file, the user's own for it, the user's for every project."""
    return {
        "project": os.path.join(cwd, "CLAUDE.md"),
        "local": os.path.join(cwd, "CLAUDE.local.md"),
        "user": os.path.join(home, "CLAUDE.md"),
        "memory": os.path.join(memory_folder(cwd, env), INDEX),
    }


_OPENING = """\
# What you remember
From earlier sessions in this project; it was true when it was written, so check what you rely on. Details \
are in the \
files that it names, in {folder}. When the user asks you to remember or forget something, change those \
files: one topic \
each, with a head of name, description, type (user, feedback, project or reference), and a line in \
MEMORY.md."""


def _index(folder: str, file: str, line: str) -> None:
    path = os.path.join(folder, INDEX)
    try:
        lines = read_bytes(path, _LARGEST_FILE).decode(errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    kept = [each for each in lines if f"]({file})" not in each]
    write_atomic(path, ("\n".join((*kept, line)) + "\n").encode(errors="replace"), mode=0o600)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60] or "note"
