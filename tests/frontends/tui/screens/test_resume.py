from pathlib import Path
from typing import Any

from bridle.frontends.tui.screens.conversation.resume import (
    DeleteSession,
    LoadSessions,
    RenameSession,
    Resume,
    ResumeContext,
    ResumeView,
    SearchText,
    TagSession,
)
from bridle.frontends.tui.screens.conversation.transcript_items import passages_of
from bridle.transcripts.listing import SessionInfo
from tests.frontends.tui.screens.showing import Showing, assert_screens

_NOW = 1_800_000_000.0
_HOUR = 3600


def _session(number: int, summary: str, hours: float, **more: Any) -> SessionInfo:
    facts: dict[str, Any] = {"file_size": 4200, "git_branch": "main", "cwd": "/proj/app", **more}
    return SessionInfo(
        session_id=f"00000000-0000-4000-8000-00000000000{number}",
        summary=summary,
        last_modified=int((_NOW - hours * _HOUR) * 1000),
        **facts,
    )


_SESSIONS = (
    _session(1, "Fix the login page", 0.2, first_prompt="the login page is broken"),
    _session(2, "Write the parser", 3, git_branch="parser", tag="parsing"),
    _session(3, "Make tests faster", 30, cwd="/proj/app-tree"),
    _session(4, "Read about terminals", 300, cwd="/proj/other", tag="reading"),
)
_AROUND = ResumeContext(
    cwd="/proj/app",
    now=_NOW,
    branch="main",
    worktrees=("/proj/app", "/proj/app-tree"),
    current=_SESSIONS[0].session_id,
)


def _view(asked: list[Any] | None = None, **options: Any) -> ResumeView:
    return ResumeView(
        _SESSIONS,
        _AROUND,
        do=([] if asked is None else asked).append,
        preview=lambda info: passages_of([{"role": "user", "content": f"all of {info.summary}"}]),
        **options,
    )


def test_screens():
    assert_screens("resume", _view())


def test_typing_searches_titles_branches_tags_and_first_prompts():
    assert Showing(_view()).type("parser").selected.startswith("Write the parser")
    assert Showing(_view()).type("reading").selected.startswith("Read about")
    assert Showing(_view()).type("broken").selected.startswith("Fix the login")


def test_a_query_given_at_the_start_is_searched():
    assert Showing(_view(query="faster")).press("enter").value == Resume(session_id=_SESSIONS[2].session_id)


def test_enter_resumes_and_ctrl_f_resumes_a_copy():
    chosen = Showing(_view()).press("down", "enter").value
    assert chosen == Resume(session_id=_SESSIONS[1].session_id)
    copy = Showing(_view()).press("down", "ctrl+f").value
    assert copy == Resume(session_id=_SESSIONS[1].session_id, fork=True)


def test_a_worktree_of_the_project_is_resumed_here_and_another_project_with_a_command():
    assert Showing(_view()).press("down", "down", "enter").value.command == ""
    elsewhere = Showing(_view()).press("end", "enter").value
    assert elsewhere.command == f"cd /proj/other && bridle --resume {_SESSIONS[3].session_id}"


def test_another_project_can_be_opened_in_its_own_folder_and_the_footer_says_how():
    shown = Showing(_view())
    assert "open there" not in shown.text
    assert "ctrl+g open there" in " ".join(shown.press("end").text.split())
    chosen = shown.press("ctrl+g").value
    assert (chosen.session_id, chosen.folder) == (_SESSIONS[3].session_id, "/proj/other")


def test_copies_stand_below_their_origin_and_the_newest_family_comes_first():
    origin, other = _session(1, "origin", 30), _session(2, "other", 5)
    copy, second = _session(3, "copy", 1), _session(4, "second copy", 20)
    nested = _session(5, "copy of the copy", 40)
    sessions = [copy, other, second, origin, nested]
    origins = {
        copy.session_id: origin.session_id,
        second.session_id: origin.session_id,
        nested.session_id: copy.session_id,
    }
    view = ResumeView(sessions, ResumeContext(cwd="/proj/app", now=_NOW), origins=origins)
    rows = [row.strip("› ").split("  ")[0] for row in Showing(view).text.split("\n")]
    shown = [row for row in rows if ("copy" in row and "·" not in row) or row in ("origin", "other")]
    assert shown == ["origin", "└ copy", "└ copy of the copy", "└ second copy", "other"]
    assert Showing(view).type("second").selected.startswith("second copy")


def test_copies_of_each_other_and_of_unknown_ones_are_all_listed():
    one, two = _session(1, "one", 1), _session(2, "two", 2)
    lost, third = _session(3, "lost", 3), _session(4, "third", 4)
    origins = {one.session_id: two.session_id, two.session_id: one.session_id, lost.session_id: "gone"}
    origins[third.session_id] = one.session_id
    around = ResumeContext(cwd="/proj/app", now=_NOW)
    shown = Showing(ResumeView([one, two, lost, third], around, origins=origins)).text
    assert all(word in shown for word in ("one", "two", "lost", "third"))


def test_what_is_found_in_the_text_is_listed_with_its_place():
    asked: list[Any] = []
    view = _view(asked)
    shown = Showing(view).type("zebra")
    assert "nothing matches" in shown.text
    assert asked[-1] == SearchText("zebra", _SESSIONS)
    view.show_found("zeb", {_SESSIONS[1].session_id: "stale"})
    assert "nothing matches" in shown.text
    view.show_found("zebra", {_SESSIONS[1].session_id: "…saw a zebra there"})
    assert shown.selected.startswith("Write the parser") and "saw a zebra there" in shown.text
    assert "nothing matches" in shown.type("s").text
    assert "Fix the login page" in shown.press("escape").text


def test_a_folder_with_a_strange_name_is_quoted():
    view = ResumeView([_session(5, "odd", 1, cwd="/tmp/a b;rm")], _AROUND)
    assert Showing(view).press("enter").value.command.startswith("cd '/tmp/a b;rm' && ")


def test_rename_asks_for_a_title_and_begins_with_the_old_one():
    asked: list[Any] = []
    shown = Showing(_view(asked)).press("ctrl+r").type("Login works").press("enter")
    assert asked == [RenameSession(_SESSIONS[0].session_id, "Login works")]
    assert shown.closed is None
    assert "cannot be empty" in shown.press("ctrl+r", "enter").text
    assert shown.press("escape").selected.startswith("Fix the login")


def test_a_tag_is_set_and_taken_away():
    asked: list[Any] = []
    shown = Showing(_view(asked)).press("down", "ctrl+t", "ctrl+u", "enter")
    shown.press("ctrl+t").type("2").press("enter")
    assert asked == [
        TagSession(_SESSIONS[1].session_id, None),
        TagSession(_SESSIONS[1].session_id, "parsing2"),
    ]


def test_deleting_needs_a_yes_and_the_open_conversation_cannot_be_deleted():
    asked: list[Any] = []
    shown = Showing(_view(asked)).press("ctrl+x")
    assert "Delete this" not in shown.text
    shown.press("down", "ctrl+x")
    assert "Delete this conversation" in shown.text
    shown.press("n", "ctrl+x", "y")
    assert asked == [DeleteSession(_SESSIONS[1].session_id)]


def test_all_projects_are_asked_for_and_grouped_by_folder():
    asked: list[Any] = []
    view = _view(asked)
    shown = Showing(view).press("ctrl+a")
    assert asked == [LoadSessions("all")]
    view.show(_SESSIONS, "all")
    assert "all projects" in shown.text
    assert "/proj/other" in shown.text
    shown.press("ctrl+a", "ctrl+w")
    assert asked[1:] == [LoadSessions("here"), LoadSessions("worktrees")]


def test_the_branch_and_the_tags_narrow_the_list():
    shown = Showing(_view()).press("ctrl+b")
    assert "Write the parser" not in shown.text
    shown.press("ctrl+b", "tab")
    assert [row for row in shown.text.split("\n") if row.startswith(("›", "  "))] == [
        "› Write the parser  3 h ago  #parsing  parser"
    ]
    assert "Read about terminals" in shown.press("tab").text
    assert "Fix the login page" in shown.press("tab").text


def test_the_preview_shows_the_conversation_and_enter_resumes_it():
    shown = Showing(_view()).press("down", "ctrl+v")
    assert "all of Write the parser" in shown.text
    assert shown.press("escape").selected.startswith("Write the parser")
    assert shown.press("ctrl+v", "enter").value == Resume(session_id=_SESSIONS[1].session_id)


def test_escape_empties_the_search_and_then_closes():
    shown = Showing(_view()).type("x").press("escape")
    assert shown.closed is None
    assert shown.press("escape").value is None


def test_no_conversations_are_no_trouble():
    shown = Showing(ResumeView([], ResumeContext(cwd="/", now=_NOW)))
    shown.press("down", "enter", "ctrl+r", "ctrl+v", "ctrl+x", "ctrl+b", "tab")
    assert "no conversations here" in shown.text
    assert shown.press("escape").value is None


def test_sessions_on_disk_can_be_browsed(tmp_path: Path):
    from bridle.host.paths import project_dir
    from bridle.transcripts.listing import list_sessions

    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}
    folder = Path(project_dir(str(tmp_path), env))
    folder.mkdir(parents=True)
    name = "11111111-1111-4111-8111-111111111111"
    (folder / f"{name}.jsonl").write_text(
        '{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/x",'
        '"message":{"role":"user","content":"hello there"}}\n',
        encoding="utf-8",
    )
    found = list_sessions(env, directory=str(tmp_path))
    assert Showing(ResumeView(found, _AROUND)).press("enter").value.session_id == name
