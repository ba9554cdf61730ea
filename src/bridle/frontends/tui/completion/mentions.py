"""What may follow an `@`: files of the project, any path, and resources of servers."""

import os
import os.path
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from bridle.frontends.tui.completion.candidates import Hit
from bridle.frontends.tui.completion.completion import Completion
from bridle.frontends.tui.completion.fuzzy import Found, lowered, match
from bridle.frontends.tui.completion.trigger import Trigger
from bridle.types.text import printable

_MOST_ENTRIES = 5_000
_NEEDS_QUOTES = frozenset(" \t\"'`()[]{}")


class Files(Protocol):
    """Where files to mention are looked for."""

    def search(self, query: str, *, limit: int = 20) -> list[Hit]: ...

    async def refresh(self) -> bool: ...


class Resource(Struct, frozen=True, kw_only=True):
    """Something that a server offers."""

    server: str
    uri: str
    name: str = ""


def complete_mention(
    trigger: Trigger,
    *,
    cwd: str,
    index: Files,
    resources: Sequence[Resource] = (),
    agents: Sequence[tuple[str, str]] = (),
    limit: int = 20,
) -> list[Completion]:
    """What the text behind the `@` may mean; `agents` are names with their descriptions."""
    query = trigger.query
    if is_path(query):
        return complete_path(query, cwd=cwd, quoted=trigger.quoted, limit=limit)
    others = [*_agents(query, agents), *complete_resource(query, resources)]
    inside = _inside(query, cwd=cwd, quoted=trigger.quoted, limit=limit)
    found = [_file(hit, quoted=trigger.quoted) for hit in index.search(query, limit=limit)]
    known = {each.text for each in inside}
    files = [*inside, *(each for each in found if each.text not in known)]
    if query.endswith("/") and inside:
        return inside
    if ":" in query or not query:
        return [*others, *files][:limit]
    return [*files[: max(1, limit - len(others))], *others][:limit]


def _inside(query: str, *, cwd: str, quoted: bool, limit: int) -> list[Completion]:
    """What is in a folder of the project whose name is typed in full; a file comes first by its beginning."""
    above, slash, name = query.rpartition("/")
    if not slash or not os.path.isdir(os.path.join(cwd, above)):
        return []
    found = complete_path(query, cwd=cwd, quoted=quoted, limit=limit)
    begins = lowered(f"{above}/{name}")
    return [each for each in found if lowered(each.label).startswith(begins)]


def is_path(query: str) -> bool:
    """Whether a path outside the index is typed: absolute, in a home folder, or above the working folder."""
    return query.startswith(("/", "~", "./", "../")) or query in (".", "..")


def complete_path(query: str, *, cwd: str, quoted: bool = False, limit: int = 20) -> list[Completion]:
    """Entries of the folder that is typed, by the letters behind the last slash; folders come first."""
    if query in ("~", ".", ".."):
        return [_path(f"{query}/", quoted=quoted, positions=())]
    above, slash, name = query.rpartition("/")
    folder = os.path.join(cwd, os.path.expanduser(above + slash))
    hits: list[tuple[bool, int, str, Found]] = []
    entries = _entries(folder)
    # Hidden files are offered to those who ask for them, and where there is nothing else.
    shows_hidden = name.startswith(".") or all(entry.startswith(".") for entry, _ in entries)
    for entry, is_folder in entries:
        if entry.startswith(".") and not shows_hidden:
            continue
        if (found := match(lowered(name), entry)) is not None:
            is_prefix = lowered(entry).startswith(lowered(name))
            hits.append((not is_folder, -found.score - 1_000 * is_prefix, entry + "/" * is_folder, found))
    hits.sort(key=lambda hit: (hit[1] if name else 0, hit[0], hit[2]))
    shift = len(above + slash)
    return [
        _path(above + slash + entry, quoted=quoted, positions=tuple(at + shift for at in found.positions))
        for _, _, entry, found in hits[:limit]
    ]


def complete_resource(query: str, resources: Sequence[Resource], *, limit: int = 20) -> list[Completion]:
    """Resources whose server, address or name matches."""
    hits: list[tuple[int, str, Resource, Found]] = []
    for each in resources:
        address = f"{each.server}:{each.uri}"
        found = match(lowered(query), address) or match(lowered(query), each.name)
        if found is not None:
            hits.append((-found.score, address, each, found))
    hits.sort(key=lambda hit: hit[:2])
    return [
        Completion(
            text=f"@{address} ",
            label=address,
            detail=each.name,
            positions=found.positions if match(lowered(query), address) else (),
            kind="resource",
        )
        for _, address, each, found in hits[:limit]
    ]


def mention_of(path: str, *, quoted: bool = False) -> str:
    """A path as it is written behind an `@`; quotes are put around what would end it."""
    if quoted or _NEEDS_QUOTES & set(path):
        # A folder stays open, because more is typed behind it.
        return f'@"{path}' if path.endswith("/") else f'@"{path}" '
    return f"@{path}" if path.endswith("/") else f"@{path} "


def _file(hit: Hit, *, quoted: bool) -> Completion:
    return _path(hit.text, quoted=quoted, positions=hit.positions)


def _path(path: str, *, quoted: bool, positions: tuple[int, ...]) -> Completion:
    is_folder = path.endswith("/")
    return Completion(
        text=mention_of(path, quoted=quoted),
        label=printable(path),
        positions=positions,
        kind="folder" if is_folder else "file",
        goes_on=is_folder,
    )


def _agents(query: str, agents: Sequence[tuple[str, str]]) -> list[Completion]:
    found = ((name, detail, match(lowered(query), f"agent-{name}")) for name, detail in agents)
    return [
        Completion(
            text=f"@agent-{name} ",
            label=f"agent-{name}",
            detail=detail,
            positions=hit.positions,
            kind="agent",
        )
        for name, detail, hit in found
        if hit is not None
    ]


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Names in a folder and which of them are folders; nothing for one that cannot be read."""
    found: list[tuple[str, bool]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found.append((entry.name, _is_folder(entry)))
                if len(found) >= _MOST_ENTRIES:
                    break
    except OSError:
        return []
    return found


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
