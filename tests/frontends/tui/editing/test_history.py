import json
import subprocess
import sys
from pathlib import Path

from bridle.frontends.tui.editing.attachments import Attachments, PastedImage, PastedText
from bridle.frontends.tui.editing.history import Browsing, History, HistoryEntry, Search


def _history(home: Path, project: str = "/p") -> History:
    return History(str(home), project, "s1", clock=lambda: 1700000000.5)


def _shown(history: History, *, everywhere: bool = False) -> list[str]:
    return [entry.shown for entry in history.entries(everywhere=everywhere)]


def test_prompts_are_kept_in_the_shared_file(tmp_path: Path):
    _history(tmp_path).add(
        "hello [Pasted text #1]", {1: PastedText("short"), 2: PastedImage("image/png", b"x")}
    )
    assert [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()] == [{
        "display": "hello [Pasted text #1]",
        "pastedContents": {"1": {"id": 1, "type": "text", "content": "short"}},
        "timestamp": 1700000000500,
        "project": "/p",
        "sessionId": "s1",
    }]  # fmt: skip
    assert (tmp_path / "history.jsonl").stat().st_mode & 0o077 == 0


def test_long_pastes_have_files_of_their_own_and_come_back(tmp_path: Path):
    _history(tmp_path).add("see [Pasted text #3]", {3: PastedText("long " * 1000)})
    assert "long" not in (tmp_path / "history.jsonl").read_text()
    (entry,) = _history(tmp_path).entries()
    assert entry.attachments == {3: PastedText("long " * 1000)}
    attachments = Attachments()
    attachments.restore(entry.attachments)
    assert attachments.expand(entry.shown).startswith("see long long")
    assert attachments.add_image("image/png", b"") == "[Image #4]"


def test_newest_come_first_once_and_from_this_project(tmp_path: Path):
    for project, text in [("/p", "one"), ("/p", "two"), ("/q", "other"), ("/p", "one")]:
        _history(tmp_path, project).add(text, {})
    history = _history(tmp_path)
    assert _shown(history) == ["one", "two"]
    assert _shown(history, everywhere=True) == ["one", "other", "two"]
    history.add("two", {})
    assert _shown(history) == ["two", "one"]


def test_blank_prompts_are_not_kept(tmp_path: Path):
    history = _history(tmp_path)
    history.add("  \n", {})
    assert _shown(history) == [] and not (tmp_path / "history.jsonl").exists()


def test_lines_that_make_no_sense_are_passed_over(tmp_path: Path):
    (tmp_path / "history.jsonl").write_bytes(
        b'{"display": "old", "project": "/p", "unknown": 1}\nnot json\n[]\n{"display": 3}\n'
        b'{"display": "x", "project": "/p", "pastedContents": {"1": {"contentHash": "../../etc"}, "y": 1}}\n'
        b'\xff\n{"dis'
    )
    assert _shown(_history(tmp_path)) == ["x", "old"]


def test_what_cannot_be_written_is_remembered_for_the_session(tmp_path: Path):
    (tmp_path / "history.jsonl").mkdir()
    history = _history(tmp_path)
    history.add("one", {})
    assert _shown(history) == ["one"]


def test_processes_can_write_at_the_same_time(tmp_path: Path):
    code = (
        "import sys; from bridle.frontends.tui.editing.history import History\n"
        "h = History(sys.argv[1], '/p', 's')\n"
        "for n in range(100): h.add(f'{sys.argv[2]} {n} ' + 'x' * 5000, {})"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b")]
    assert [process.wait(30) for process in running] == [0, 0]
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    assert len(lines) == 200 and all(json.loads(line)["display"][0] in "ab" for line in lines)


_ENTRIES = [HistoryEntry(text, "/p") for text in ("newest", "middle", "oldest")]


def test_browsing_goes_back_and_returns_to_the_draft():
    browsing = Browsing(_ENTRIES, "draft")
    assert browsing.next() is None
    assert [browsing.previous() for _ in range(4)] == [*_ENTRIES, None]
    assert [browsing.next() for _ in range(4)] == [_ENTRIES[1], _ENTRIES[0], "draft", None]
    assert browsing.is_at_draft


def test_search_finds_older_and_older_matches():
    entries = [HistoryEntry(text, "/p") for text in ("fix tests", "Fix bug", "other", "fix docs")]
    search = Search(lambda everywhere: entries if everywhere else entries[:3])
    assert search.current == entries[0]
    search.next()
    search.type("fi")
    search.type("x")
    assert search.current == entries[0]
    assert search.next() and search.current == entries[1]
    assert not search.next()
    search.cycle_scope()
    assert search.next() and search.next() and search.current == entries[3]
    search.type("zzz")
    assert search.current is None
    for _ in range(3):
        search.backspace()
    assert search.current == entries[0]
