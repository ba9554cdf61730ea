"""`bridle search`: finds messages in every conversation on this machine."""

import os
import sqlite3
import time
from collections.abc import Mapping

import msgspec

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.features.recall import index
from bridle.features.recall.query import Hit, Query, around, check, search, shown, since_of
from bridle.host.stdio import complain
from bridle.types.errors import UsageError
from bridle.types.visible import visible, visible_line

_USUAL, _MOST = 20, 500
_PATIENCE = 600.0
_SLOW = 3.0
_LONGEST = 4_000


def run_search(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print what was found and return the exit code: 1 where there is nothing."""
    try:
        return _run(given, env)
    except (OSError, sqlite3.Error) as error:
        complain(f"Can't use the search index: {error}. Rebuild it with: bridle search --rebuild")
        return 1


def _run(given: ParsedArguments, env: Mapping[str, str]) -> int:
    if given.on("rebuild"):
        index.discard(env)
    wants_words = not (given.on("rebuild") or given.on("update") or given.text("show"))
    query = check(_query(given)) if wants_words or given.all("words") else None
    _bring_up_to_date(env, is_quiet=given.on("json"))
    if number := given.text("show"):
        return _show(number.lstrip("#"), env)
    if query is None:
        return say("")
    hits = search(query, env)
    if given.on("json"):
        return say(
            f"{msgspec.json.format(msgspec.json.encode([_row(hit) for hit in hits]), indent=2).decode()}\n"
        )
    if not hits:
        complain("No match.")
        return 1
    return say(shown(hits) + "\n")


def _query(given: ParsedArguments) -> Query:
    limit = given.text("limit") or str(_USUAL)
    if not limit.isdecimal() or not 1 <= int(limit) <= _MOST:
        raise UsageError(f"--limit takes a number from 1 to {_MOST}.")
    since = given.text("since")
    return Query(
        words=" ".join(given.all("words")),
        regex=given.text("regex") or "",
        tools=tuple(given.all("tool")),
        files=tuple(given.all("file")),
        sources=tuple(given.all("source")),
        roles=tuple(given.all("role")),
        since=since_of(since, now=time.time()) if since else 0.0,
        below=os.getcwd() if given.on("here") else "",
        session=given.text("session") or "",
        limit=int(limit),
    )


def _bring_up_to_date(env: Mapping[str, str], *, is_quiet: bool) -> None:
    """Read what is new; the first time takes a while and says so."""
    said = [time.monotonic()]

    def progress(done: int, of: int) -> None:
        if not is_quiet and time.monotonic() - said[0] > _SLOW:
            said[0] = time.monotonic()
            complain(f"Reading conversations: {done / of:.0%}")

    # Where there is an index already, what it has is worth more than waiting for another process.
    waits = 0.0 if index.age(env) is not None else _PATIENCE
    index.update(env, progress=progress, patience=waits)
    with index.open_index(env) as store:
        is_worn = index.is_worn(store)
    if is_worn:
        index.discard(env)
        index.update(env, progress=progress, patience=_PATIENCE)


def _show(number: str, env: Mapping[str, str]) -> int:
    if not number.isdecimal():
        raise UsageError("--show takes the number of a message, such as 1234.")
    hit, rows = around(int(number), env)
    lines = ["\n".join(map(visible_line, (hit.title, hit.path, hit.resume)))]
    for identity, said in rows:
        mark = "▶" if identity == hit.id else " "
        lines.append(f"{visible_line(f'{mark} #{identity} {said.role}:')}\n{_indented(said.text)}")
    return say(visible("\n\n".join(lines)) + "\n")


def _indented(text: str) -> str:
    """A message as it is shown: no line of it can be taken for a heading."""
    return "\n".join(f"    {line}" for line in text[:_LONGEST].splitlines())


def _row(hit: Hit) -> dict[str, object]:
    return {**msgspec.structs.asdict(hit), "resume": hit.resume}
