"""Finds what was said in earlier sessions."""

import os
from collections.abc import Mapping

from msgspec import Struct

from bridle.host.paths import project_dir
from bridle.transcripts.line import decode_line
from bridle.transcripts.listing import list_sessions, locate
from bridle.types.block import text_of

_MOST_SESSIONS = 100
_MOST_BYTES = 20_000_000
_EXCERPT = 240


class SearchHit(Struct, frozen=True, kw_only=True):
    """A place in an earlier conversation."""

    session_id: str
    title: str
    timestamp: str
    speaker: str
    excerpt: str


def recall(words: str, cwd: str, env: Mapping[str, str], *, limit: int = 20) -> list[SearchHit]:
    """Where all of these words were said in conversations of this project, the newest first."""
    wanted = [word.lower() for word in words.split() if word]
    found: list[SearchHit] = []
    if not wanted or not os.path.isdir(project_dir(cwd, env)):
        return found
    left = _MOST_BYTES
    for info in list_sessions(env, directory=cwd, limit=_MOST_SESSIONS):
        if (path := locate(info.session_id, env, cwd)) is None:
            continue
        left -= os.path.getsize(path)
        found += _in_file(path, info.session_id, info.summary, wanted)
        if len(found) >= limit or left < 0:
            break
    return found[:limit]


def _in_file(path: str, session_id: str, title: str, wanted: list[str]) -> list[SearchHit]:
    found: list[SearchHit] = []
    # The longest word tells fastest that a line is of no use.
    probe = max(wanted, key=len).encode()
    with open(path, "rb") as file:
        for line in file:
            if probe not in line.lower():
                continue
            row = decode_line(line)
            match row:
                case {"type": "user" | "assistant" as speaker, "message": {"content": content}} if (
                    not row.get("isMeta")
                ):
                    text = text_of(content)
                    lower = text.lower()
                    if all(word in lower for word in wanted):
                        at = max(0, lower.find(wanted[0]) - _EXCERPT // 3)
                        found.append(
                            SearchHit(
                                session_id=session_id,
                                title=title,
                                timestamp=str(row.get("timestamp") or ""),
                                speaker=speaker,
                                excerpt=" ".join(text[at : at + _EXCERPT].split()),
                            )
                        )
                case _:
                    pass
    return list(reversed(found))
