"""What the row above the prompt says of a call."""

from typing import Any

from bridle.frontends.tui.chat.current_action import CurrentAction, word_for
from tests.tables import table


@table(
    ("tool", "input", "word"),
    [
        ("Read", {"file_path": "/a"}, "Reading"),
        ("Grep", {"pattern": "x"}, "Searching"),
        ("Edit", {}, "Editing"),
        ("Bash", {"command": "cd src && python -m pytest -q"}, "Running tests"),
        ("Bash", {"command": "npm run test -- --watch"}, "Running tests"),
        ("Bash", {"command": "uv sync"}, "Installing"),
        ("Bash", {"command": "make"}, "Building"),
        ("Bash", {"command": "git push origin main"}, "Pushing"),
        ("Bash", {"command": "A=1 sudo /usr/bin/ls -la"}, "Running ls"),
        ("Bash", {"command": "(true)"}, "Running true"),
        ("Bash", {"command": "for i in 1 2; do sleep $i; done"}, "Running sleep"),
        ("Bash", {"command": "while ! curl -s localhost; do sleep 1; done"}, "Running curl"),
        ("Bash", {"command": "if test -f x; then echo y; fi"}, "Running test"),
        ("Bash", {"command": "until [ -e go ]; do sleep 1; done"}, "Running a command"),
        ("Bash", {"command": "{ dodo; }"}, "Running dodo"),
        ("Bash", {"command": '"$X" y'}, "Running a command"),
        ("Bash", {}, "Working"),
        ("mcp__travel__book", {}, "Asking travel"),
        ("Strange", {}, "Working"),
    ],
)
def test_calls_have_words(tool: str, input: dict[str, Any], word: str):
    assert word_for(tool, input) == word


def test_the_newest_call_that_runs_counts_before_the_answer():
    action = CurrentAction()
    action.answer = "Writing"
    action.began("a", "Read", {})
    action.began("b", "Bash", {"command": "ls"})
    assert action.word == "Running ls"
    action.ended("b")
    assert action.word == "Reading"
    action.ended("a")
    assert action.word == "Writing"
