import json
from pathlib import Path
from typing import Any

import pytest

from bridle.host.paths import project_dir
from bridle.transcripts.listing import list_sessions
from bridle.transcripts.origins import origins_of
from bridle.transcripts.text_search import search_text

_FIRST = "11111111-1111-4111-8111-111111111111"
_SECOND = "22222222-2222-4222-8222-222222222222"


def _row(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {"type": kind, "uuid": "u", "parentUuid": None, "cwd": "/p", "message": message, **more}


def _result(text: str) -> list[Any]:
    return [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}]}]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    folder = Path(project_dir("/p", env))
    folder.mkdir(parents=True)
    talks = {
        _FIRST: [
            _row("user", 'Where do the Zebras live?\nTell "me" über alles'),
            _row("assistant", [{"type": "text", "text": "far away " * 20 + "in the savanna " + "x" * 500}]),
            _row("user", _result("hyena")),
            _row("user", "leopard", isMeta=True),
        ],
        _SECOND: [_row("user", "another", forkedFrom={"sessionId": _FIRST, "messageUuid": "u"})],
    }
    for name, rows in talks.items():
        lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
        (folder / f"{name}.jsonl").write_text(
            "\n".join([*lines, '{"type":"user","mess', ""]), encoding="utf-8"
        )
    return env


def _found(query: str, env: dict[str, str], **more: Any) -> dict[str, str]:
    return search_text(query, list_sessions(env), env, **more)


@pytest.mark.parametrize("query", ["zebras", "LIVE zebra", 'tell "me"', "ÜBER", "savanna"])
def test_prompts_and_answers_are_searched_whatever_the_case_of_letters(env: dict[str, str], query: str):
    assert list(_found(query, env)) == [_FIRST]


@pytest.mark.parametrize("query", ["hyena", "leopard", "zebra savanna", "ze", "", "parentUuid", "\\"])
def test_results_of_tools_notes_and_names_of_fields_are_not_found(env: dict[str, str], query: str):
    assert _found(query, env) == {}


def test_the_place_is_short_and_has_the_word(env: dict[str, str]):
    place = _found("savanna", env)[_FIRST]
    assert "savanna" in place and len(place) < 130 and place[0] == place[-1] == "…"


def test_a_search_that_is_over_finds_nothing(env: dict[str, str]):
    assert _found("zebras", env, is_over=lambda: True) == {}


def test_a_conversation_that_is_gone_is_passed_over(env: dict[str, str]):
    sessions = list_sessions(env)
    for path in Path(project_dir("/p", env)).iterdir():
        path.unlink()
    assert search_text("zebras", sessions, env) == {}


def test_the_origin_of_a_copy_is_known(env: dict[str, str]):
    assert origins_of([_FIRST, _SECOND, "gone"], env) == {_SECOND: _FIRST}
