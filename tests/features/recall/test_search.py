"""Every conversation on a machine is found by its words, whichever agent had it."""

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from bridle.features.recall import index
from bridle.features.recall.query import Query, around, check, search, shown, since_of
from bridle.types.errors import UsageError
from tests.features.recall import corpus
from tests.features.recall.corpus import calls, claude, environment, results


def _found(home: Path, words: str = "", **query: Any) -> list[str]:
    env = environment(home)
    index.update(env)
    return [hit.excerpt for hit in search(Query(words=words, **query), env)]


def test_transcripts_of_every_agent_are_found_the_newest_first(tmp_path: Path):
    claude(tmp_path, "one", ("user", "pelican in bridle"))
    for make in (corpus.codex, corpus.gemini, corpus.opencode, corpus.pi):
        make(tmp_path)
    env = environment(tmp_path)
    index.update(env)
    hits = search(Query(words="PELICAN"), env)

    assert [hit.source for hit in hits] == ["pi", "opencode", "gemini", "codex", "claude"]
    assert [hit.session for hit in hits] == ["pi-1", "ses_1", "gemini-1", "codex-1", "one"]
    assert hits[-1].resume == "cd /repo/shop && bridle --resume one"
    assert hits[3].resume == "cd /repo/codex && codex resume codex-1"
    assert [hit.title for hit in hits if hit.source == "opencode"] == ["Birds"]
    assert "pelican in pi" in shown(hits)


def test_messages_of_opencode_are_read_from_files_too(tmp_path: Path):
    corpus.opencode(tmp_path, in_files=True)
    assert _found(tmp_path, "pelican opencode") == ["pelican in opencode"]


def test_tools_files_roles_sources_and_times_narrow_a_search(tmp_path: Path):
    corpus.codex(tmp_path)
    corpus.gemini(tmp_path)
    claude(
        tmp_path, "one",
        ("user", "look for the otter"),
        ("assistant", calls("Bash", command="grep otter zoo.txt")),
        ("user", results("otter: 3")),
        ("assistant", calls("Edit", file_path="/repo/shop/zoo.txt", old_string="otter", new_string="seal")),
        day=9,
    )  # fmt: skip
    assert len(_found(tmp_path, "otter")) == 4
    assert len(_found(tmp_path, "otter", tools=("Bash",))) == 1
    assert (
        len(_found(tmp_path, files=("zoo.txt",))) == len(_found(tmp_path, files=("/repo/shop/zoo.txt",))) == 1
    )
    assert _found(tmp_path, files=("shop/other/zoo.txt",)) == []
    assert len(_found(tmp_path, "otter", roles=("tool",))) == 1
    assert len(_found(tmp_path, tools=("shell",), sources=("codex",))) == 1
    assert len(_found(tmp_path, files=("heron.md",), sources=("gemini",))) == 1
    assert _found(tmp_path, "otter", since=since_of("2026-11-20", now=0)) == []
    assert len(_found(tmp_path, "otter", since=since_of("2026-11-08", now=0))) == 4
    assert len(_found(tmp_path, "otter", below="/repo")) == 4 and not _found(tmp_path, "otter", below="/rep")
    assert len(_found(tmp_path, "otter", session="one", limit=2)) == 2


def test_quotes_signs_beginnings_and_expressions(tmp_path: Path):
    claude(
        tmp_path, "one",
        ("user", "the red fox_trot in src/app.py"), ("user", "fox, a red one: src app py"), ("user", "Füchse")
    )  # fmt: skip
    assert len(_found(tmp_path, "red fox")) == 2
    assert len(_found(tmp_path, '"red fox"')) == 1
    assert len(_found(tmp_path, "src/app.py")) == 1
    assert len(_found(tmp_path, "tro*")) == 1
    assert _found(tmp_path, "fuchse") == ["Füchse"]
    assert len(_found(tmp_path, regex=r"red fox\w+")) == 1
    assert len(_found(tmp_path, 'fox" (')) == 2 and _found(tmp_path, "zebra") == []


@pytest.mark.parametrize(
    "query",
    [Query(), Query(words="***"), Query(regex="("), Query(words="a", sources=("word",)), Query(words='"')],
)
def test_what_cannot_be_looked_for_is_refused(query: Query):
    with pytest.raises(UsageError):
        check(query)


def test_new_lines_are_added_and_half_written_ones_wait(tmp_path: Path):
    path = claude(tmp_path, "one", ("user", "first otter"))
    assert len(_found(tmp_path, "otter")) == 1
    claude(tmp_path, "one", ("assistant", "second otter"))
    with path.open("a") as file:
        file.write('{"type": "user", "message": {"role": "user", "content": "third ot')
    assert len(_found(tmp_path, "otter")) == 2
    with path.open("a") as file:
        file.write('ter"}}\n')
    assert len(_found(tmp_path, "otter")) == 3
    assert index.update(environment(tmp_path)).messages == 0


def test_what_is_gone_or_was_written_anew_is_not_found(tmp_path: Path):
    path = claude(tmp_path, "one", ("user", "an otter and much more"))
    other = claude(tmp_path, "two", ("user", "an otter"))
    assert len(_found(tmp_path, "otter")) == 2
    other.unlink()
    path.unlink()
    claude(tmp_path, "one", ("user", "a seal"))
    assert _found(tmp_path, "otter") == [] and _found(tmp_path, "seal") == ["a seal"]


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000, "nonsense", '{"type": "user"}', '{"type": "user", "message": {"content": 5}}', "5",
        '{"type": "user", "message": {"content": [{"type": "text", "text": 7}, null, []]}}',
        '{"type": "message", "message": {"role": null}}', '{"payload": {}}', "null",
        '{"type":"user","timestamp":1e999,"message":{"content":"x"}}',
    ],
)  # fmt: skip
def test_hostile_lines_are_passed_over(line: str, tmp_path: Path):
    for folder in (".claude/projects/p", ".codex/sessions", ".pi/agent/sessions/p"):
        path = tmp_path / folder / "x.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(line + "\n")
    claude(tmp_path, "one", ("user", "an otter"))
    (tmp_path / ".gemini" / "tmp" / "p" / "chats").mkdir(parents=True)
    (tmp_path / ".gemini" / "tmp" / "p" / "chats" / "s.json").write_text(line)
    assert _found(tmp_path, "otter") == ["an otter"]


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 1_000, None])
def test_a_damaged_index_is_made_anew(damage: bytes | None, tmp_path: Path):
    claude(tmp_path, "one", ("user", "an otter"))
    assert _found(tmp_path, "otter")
    path = Path(index.index_path(environment(tmp_path)))
    data = path.read_bytes()
    path.write_bytes(data[:4_096] + b"\xff" * (len(data) - 4_096) if damage is None else damage)
    assert _found(tmp_path, "otter") == ["an otter"]
    assert path.stat().st_mode & 0o077 == 0


def test_two_at_once_find_each_message_once(tmp_path: Path):
    for number in range(20):
        claude(tmp_path, f"s{number}", *(("user", f"otter {number} {n}") for n in range(20)))
    env = environment(tmp_path)
    workers = [
        threading.Thread(target=index.update, args=(env,), kwargs={"patience": 60.0}) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(search(Query(words="otter", limit=999), env)) == 400


def test_an_update_beside_another_says_so_at_once(tmp_path: Path):
    claude(tmp_path, "one", ("user", "an otter"))
    env = environment(tmp_path)
    index.update(env)
    with index.FileLock(f"{index.index_path(env)}.lock"):
        assert index.update(env).busy
    assert len(search(Query(words="otter"), env)) == 1


def test_a_message_is_shown_with_those_around_it(tmp_path: Path):
    claude(tmp_path, "one", *(("user", f"number{n} otter") for n in range(20)))
    env = environment(tmp_path)
    index.update(env)
    (hit,) = search(Query(words="number10"), env)
    found, said = around(hit.id, env)
    assert found.session == "one" and [each.text.split()[0] for _, each in said] == [
        f"number{n}" for n in range(7, 14)
    ]
    with pytest.raises(UsageError):
        around(99_999, env)


def test_an_index_that_is_worn_is_told_from_a_good_one(tmp_path: Path):
    claude(tmp_path, "one", ("user", "an otter"))
    env = environment(tmp_path)
    index.update(env)
    with index.open_index(env) as store:
        assert not index.is_worn(store)
        store.execute("UPDATE units SET messages = 20000, live = 0")
        assert index.is_worn(store)


def test_the_index_has_words_and_no_texts(tmp_path: Path):
    claude(tmp_path, "one", ("user", "hello"), ("user", "the quick brown otter jumps"))
    env = environment(tmp_path)
    index.update(env)
    folder = os.path.dirname(index.index_path(env))
    data = b"".join(Path(folder, name).read_bytes() for name in os.listdir(folder))
    assert b"quick brown" not in data
    with index.open_index(env) as store, pytest.raises(sqlite3.Error):
        store.execute("INSERT INTO nothing VALUES (1)")
