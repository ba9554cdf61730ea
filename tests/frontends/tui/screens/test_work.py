from pathlib import Path
from typing import Any

from bridle.commands.queries.doctor import Check
from bridle.frontends.tui.render.git_diff import read_unified
from bridle.frontends.tui.screens.actions import EditFile
from bridle.frontends.tui.screens.session.diff import DiffSource, diff_view, read_untracked
from bridle.frontends.tui.screens.session.doctor import CheckAgain, doctor_view
from bridle.frontends.tui.screens.session.tasks import StopTask, tasks_view
from bridle.types.services.tasks import Task
from tests.frontends.tui.screens.showing import Showing, assert_screens

_DIFF = """diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -1,3 +1,3 @@
 import os
-print("one")
+print("two")
 x = 1
diff --git a/new.md b/new.md
new file mode 100644
--- /dev/null
+++ b/new.md
@@ -0,0 +1,2 @@
+# New
+text
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1,1 +0,0 @@
-x = 2
"""
_SOURCES = (
    DiffSource(name="working tree", changes=tuple(read_unified(_DIFF))),
    DiffSource(name="turn 2", changes=tuple(read_unified(_DIFF))[:1]),
)
_NOW = 1_000.0
_TASKS = (
    Task(
        id="b1",
        kind="local_bash",
        description="Run the server",
        call_id="c",
        command="make serve",
        output_file="/tmp/b1.out",
        started=_NOW - 75,
    ),
    Task(
        id="b2",
        kind="local_bash",
        description="",
        call_id="c",
        command="sleep 1",
        output_file="/tmp/b2.out",
        started=_NOW - 50,
        ended=_NOW - 40,
        status="failed",
        exit_code=2,
    ),
    Task(
        id="a1",
        kind="local_agent",
        description="Look for bugs",
        call_id="c",
        output_file="/tmp/a1.out",
        started=_NOW - 5,
    ),
)
_CHECKS = (
    Check(group="Programs", health="ok", text="git at /usr/bin/git"),
    Check(group="Programs", health="warning", text="ripgrep is not installed", remedy="install ripgrep"),
    Check(group="Settings", health="fault", text="settings.json line 3: not JSON", remedy="fix line 3"),
)


def _tasks(asked: list[Any] | None = None, output: str = "listening on 8080\n") -> Showing:
    view, _ = tasks_view(
        _TASKS, read=lambda _, __: output, clock=lambda: _NOW, do=([] if asked is None else asked).append
    )
    return Showing(view)


def test_screens():
    assert_screens("diff", diff_view(_SOURCES))
    assert_screens("diff-file", Showing(diff_view(_SOURCES)).press("enter").view)
    assert_screens("tasks", _tasks().view)
    assert_screens("doctor", doctor_view(_CHECKS))


def test_files_lead_to_their_changes_and_back():
    shown = Showing(diff_view(_SOURCES)).press("enter")
    assert '- print("one")' in shown.text
    assert shown.press("backspace").selected.startswith("~ app.py")
    assert "# New" in shown.press("down", "enter").text


def test_left_and_right_change_between_the_working_tree_and_turns():
    shown = Showing(diff_view(_SOURCES))
    assert "new.md" in shown.text
    assert "new.md" not in shown.press("right").text
    assert "new.md" in shown.press("left").text


def test_a_file_opens_at_its_first_change_unless_it_is_gone():
    asked: list[Any] = []
    Showing(diff_view(_SOURCES, do=asked.append)).press("e", "end", "e")
    assert asked == [EditFile("app.py", 1)]


def test_no_changes_are_said():
    assert "no changes" in Showing(diff_view(())).press("enter", "right").text


def test_running_work_comes_first_and_is_stopped_after_a_yes():
    asked: list[Any] = []
    shown = _tasks(asked)
    assert shown.selected.startswith("◐ Run the server")
    shown.press("s", "n", "s", "y")
    assert asked == [StopTask("b1")]


def test_what_has_ended_cannot_be_stopped():
    asked: list[Any] = []
    shown = _tasks(asked).press("end", "s", "y")
    assert asked == []
    assert "s stop" not in shown.text


def test_the_newest_output_of_a_job_is_shown_without_its_escapes():
    shown = _tasks(output="old\n" + "\n".join(f"line {n}" for n in range(500)) + "\n\x1b[2Jlast\n").press(
        "enter", "end"
    )
    assert "last" in shown.text
    assert "old" not in shown.text


def test_the_output_file_opens_in_the_editor():
    asked: list[Any] = []
    _tasks(asked).press("e")
    assert asked == [EditFile("/tmp/b1.out")]


def test_a_job_that_ends_meanwhile_is_shown_so():
    view, _ = tasks_view(_TASKS[:1], read=lambda _, __: "", clock=lambda: _NOW)
    shown = Showing(view)
    ended = Task(
        id="b1",
        kind="local_bash",
        description="Run the server",
        call_id="c",
        command="make serve",
        output_file="/tmp/b1.out",
        started=_NOW - 75,
        ended=_NOW,
        status="completed",
        exit_code=0,
    )
    view.show([ended])
    assert shown.selected.startswith("✓ Run the server completed")
    assert view.refresh == 1.0


def test_problems_come_with_a_way_out():
    asked: list[Any] = []
    shown = Showing(doctor_view(_CHECKS, do=asked.append))
    assert "2 problems" in shown.text
    shown.press("down", "r", "end")
    assert asked == [CheckAgain()]
    assert "fix line 3" in shown.press("enter").text


def test_a_healthy_installation_says_so():
    view = doctor_view(_CHECKS)
    shown = Showing(view)
    view.show(_CHECKS[:1])
    assert "no problems found" in shown.text


def test_files_that_git_does_not_know_are_changes_that_add_them(tmp_path: Path):
    (tmp_path / "new.py").write_text("one\ntwo\n")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x00\xff")
    (tmp_path / "large.txt").write_text("x" * 300_000)
    (tmp_path / "link").symlink_to("/etc/hostname")
    found = read_untracked(str(tmp_path), ["new.py", "photo.png", "large.txt", "link", "gone"])
    assert [(each.path, each.kind, each.added) for each in found] == [
        ("new.py", "new", 2),
        ("photo.png", "binary", 0),
        ("large.txt", "new", 0),
        ("link", "new", 0),
        ("gone", "new", 0),
    ]
