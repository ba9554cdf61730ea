import json
import os
from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.tui.keymap.defaults import ACTIONS, CONTEXTS, DEFAULTS
from bridle.frontends.tui.keymap.keymap import KeyState, Waiting, default_keymap, display, parse_chord
from bridle.frontends.tui.keymap.user_file import KeymapFile, load_keymap, template
from bridle.frontends.tui.terminal.keys import Key

_CTRL_X, _CTRL_K = Key("x", ctrl=True), Key("k", ctrl=True)


def _file(tmp_path: Path, *blocks: Any) -> str:
    path = tmp_path / "keybindings.json"
    path.write_text(json.dumps({"bindings": blocks}, indent=1))
    return str(path)


def test_every_default_binding_names_a_real_action_in_a_real_context():
    assert set(DEFAULTS) == set(CONTEXTS)
    assert {action for table in DEFAULTS.values() for action in table.values()} <= ACTIONS
    assert (len(CONTEXTS), len(ACTIONS)) == (19, 102)


def test_the_innermost_context_that_knows_a_key_decides():
    state = KeyState(default_keymap())
    assert state.press(Key("escape"), ("Autocomplete", "Chat", "Global")) == "autocomplete:dismiss"
    assert state.press(Key("escape"), ("Chat", "Global")) == "chat:cancel"
    assert state.press(Key("t", ctrl=True), ("Chat", "Global")) == "app:toggleTodos"
    assert state.press(Key("a", text="a"), ("Chat", "Global")) is None


def test_chords_wait_for_their_next_key():
    state = KeyState(default_keymap())
    contexts = ("Chat", "Global")
    assert state.press(_CTRL_X, contexts) is Waiting.MORE
    assert state.pending == ("ctrl+x",)
    assert state.press(_CTRL_K, contexts) == "chat:killAgents"
    assert state.pending == ()


def test_a_key_that_completes_no_chord_is_swallowed_and_the_next_one_counts_again():
    state = KeyState(default_keymap())
    assert state.press(_CTRL_X, ("Chat",)) is Waiting.MORE
    assert state.press(Key("q", text="q"), ("Chat",)) is Waiting.MORE
    assert state.pending == ()
    assert state.press(Key("enter"), ("Chat",)) == "chat:submit"


def test_a_chord_can_be_forgotten():
    state = KeyState(default_keymap())
    state.press(_CTRL_X, ("Chat",))
    state.reset()
    assert state.press(Key("enter"), ("Chat",)) == "chat:submit"


@pytest.mark.parametrize(
    ("text", "chord"),
    [
        ("ctrl+x ctrl+k", ("ctrl+x", "ctrl+k")),
        ("Shift+Control+A", ("ctrl+shift+a",)),
        ("meta+p", ("alt+p",)),
        ("opt+esc", ("alt+escape",)),
        ("cmd+return", ("super+enter",)),
        ("G", ("shift+g",)),
        ("ctrl++", ("ctrl++",)),
        ("?", ("?",)),
        ("f12", ("f12",)),
    ],
)
def test_keys_can_be_written_in_many_ways(text: str, chord: tuple[str, ...]):
    assert parse_chord(text) == chord


@pytest.mark.parametrize("text", ["", "hyper+x", "ctrl+nokey", "ctrl+"])
def test_what_names_no_key_is_refused(text: str):
    with pytest.raises(ValueError):
        parse_chord(text)


def test_hints_name_the_keys_that_count():
    keymap = default_keymap()
    assert keymap.label("chat:killAgents") == "ctrl+x ctrl+k"
    assert keymap.label("chat:cancel") == "esc"
    assert keymap.label("voice:pushToTalk") == "space"
    assert display(("shift+up",)) == "shift+↑"


def test_users_change_add_and_remove_keys(tmp_path: Path):
    path = _file(
        tmp_path,
        {
            "context": "Chat",
            "bindings": {"ctrl+s": None, "alt+s": "chat:stash", "ctrl+k ctrl+t": "app:toggleTodos"},
        },
        {"context": "Global", "bindings": {"f5": "command:compact"}},
    )
    keymap, problems = load_keymap(path)
    state = KeyState(keymap)
    assert problems == []
    assert state.press(Key("s", ctrl=True), ("Chat", "Global")) is None
    assert state.press(Key("s", alt=True), ("Chat", "Global")) == "chat:stash"
    assert state.press(_CTRL_K, ("Chat",)) is Waiting.MORE
    assert state.press(Key("t", ctrl=True), ("Chat",)) == "app:toggleTodos"
    assert state.press(Key("f5"), ("Chat", "Global")) == "command:compact"
    assert keymap.label("chat:stash") == "alt+s"


def test_every_mistake_is_told_with_its_line_and_the_rest_counts(tmp_path: Path):
    path = _file(
        tmp_path,
        {"context": "Nowhere", "bindings": {}},
        {"context": "Chat", "bindings": {"ctrl+c": "chat:stash", "ctrl+nokey": "chat:stash",
            "f2": "chat:nothing", "f3": "chat:stash"}},
        "what",
        {"context": "Help"},
    )  # fmt: skip
    keymap, problems = load_keymap(path)
    lines = Path(path).read_text().splitlines()
    told = [problem.line or 0 for problem in problems[:4]]
    assert [(number, lines[number - 1].strip()[:14]) for number in told] == [
        (4, '"context": "No'), (10, '"ctrl+c": "cha'), (11, '"ctrl+nokey": '), (12, '"f2": "chat:no'),
    ]  # fmt: skip
    assert len(problems) == 6
    assert str(problems[1]).startswith(f"{path}:10: ctrl+c cannot be bound")
    assert KeyState(keymap).press(Key("f3"), ("Chat",)) == "chat:stash"


def test_keys_hidden_by_longer_ones_and_bound_twice_are_told(tmp_path: Path):
    path = tmp_path / "keybindings.json"
    path.write_text(
        '{"bindings": [{"context": "Chat", "bindings": {\n'
        '"ctrl+x": "chat:stash",\n"f2": null,\n"f2": null}}]}'
    )
    _, problems = load_keymap(str(path))
    assert sorted(problem.line or 0 for problem in problems) == [2, 4]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"bindings": {}}', "\x00", "﻿{}", "1" * 10])
def test_a_broken_file_leaves_the_default_keys(tmp_path: Path, text: str):
    path = tmp_path / "keybindings.json"
    path.write_text(text)
    keymap, problems = load_keymap(str(path))
    assert keymap == default_keymap() and len(problems) == 1


def test_a_missing_file_is_no_mistake(tmp_path: Path):
    assert load_keymap(str(tmp_path / "none.json")) == (default_keymap(), ())


def test_changes_of_the_file_are_followed(tmp_path: Path):
    path = _file(tmp_path, {"context": "Chat", "bindings": {"f2": "chat:stash"}})
    followed = KeymapFile(path)
    assert not followed.refresh()
    _file(tmp_path, {"context": "Chat", "bindings": {"f2": "chat:undo"}})
    os.utime(path, (1, 1))
    assert followed.refresh()
    assert KeyState(followed.keymap).press(Key("f2"), ("Chat",)) == "chat:undo"


def test_the_documentation_lists_every_default_key_and_action():
    page = (Path(__file__).parents[4] / "docs/keybindings.md").read_text(encoding="utf-8")
    sections = dict(part.split("\n", 1) for part in page.split("### ")[1:])
    for context, table in DEFAULTS.items():
        for keys, action in table.items():
            assert any(
                f"`{keys}`" in row and f"`{action}`" in row for row in sections[context].splitlines()
            ), keys
    assert not [action for action in ACTIONS if f"`{action}`" not in page]


def test_the_template_changes_nothing(tmp_path: Path):
    path = tmp_path / "keybindings.json"
    path.write_text(template())
    assert load_keymap(str(path)) == (default_keymap(), [])


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        f'{{"bindings": {"1" * 5_000}}}',
        '{"bindings": [{"context": "\\ud800", "bindings": {}}]}',
        '{"bindings": [{"context": "Chat", "bindings": {"ctrl+\\ud800": "nope"}}]}',
        json.dumps({"bindings": [{"context": "Chat", "bindings": {"ctrl+x " * 50_000: "chat:submit"}}]}),
    ],
)
def test_a_hostile_file_is_told_and_leaves_the_keys_alone(tmp_path: Path, text: str):
    path = tmp_path / "keybindings.json"
    path.write_text(text)
    keymap, (problem,) = load_keymap(str(path))
    assert keymap.find(("enter",), ("Chat",)) == "chat:submit"
    assert problem.line == 1 and len(str(problem)) < 600


def test_only_the_first_things_that_are_wrong_are_told(tmp_path: Path):
    path = _file(
        tmp_path, {"context": "Chat", "bindings": {f"ctrl+x {n % 10} f{n % 35 + 1}": "no" for n in range(70)}}
    )
    _, problems = load_keymap(path)
    assert len(problems) == 21 and "50 more" in str(problems[-1])
