import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.completion.commands import (
    argument_choices,
    complete_argument,
    complete_command,
    find_command,
)
from bridle.frontends.tui.completion.trigger import Trigger, mode_of, trigger_at
from bridle.types.command import Command, Says
from tests.tables import table


async def _run(arguments: str, context: object) -> Says:
    del context
    return Says(arguments)


_COMMANDS = (
    Command(name="clear", description="new conversation", run=_run, aliases=("reset", "new")),
    Command(name="compact", description="sum up", run=_run, argument_hint="[focus]"),
    Command(name="config", description="settings", run=_run, aliases=("settings",)),
    Command(name="tui", description="", run=_run, argument_hint="[default|fullscreen]"),
    Command(name="tools:deploy", description="ship it", run=_run, source="plugin"),
)


def _texts(query: str) -> list[str]:
    return [each.text for each in complete_command(query, _COMMANDS)]


def test_commands_that_begin_with_the_query_come_first():
    assert _texts("co") == ["/config ", "/compact "]
    assert _texts("cmp") == ["/compact "]
    assert len(_texts("")) == len(_COMMANDS)


def test_aliases_lead_to_their_command():
    (hit,) = complete_command("rese", _COMMANDS)
    assert (hit.text, hit.label) == ("/clear ", "/clear (reset)")
    assert "".join(hit.label[at] for at in hit.positions) == "rese"


def test_list_shows_hints_and_where_a_command_comes_from():
    (hit,) = complete_command("deploy", _COMMANDS)
    assert hit.detail == "ship it (plugin)"
    assert complete_command("compact", _COMMANDS)[0].label == "/compact [focus]"


def test_arguments_come_from_the_hint():
    tui = find_command("tui", _COMMANDS)
    assert tui is not None
    assert [each.text for each in complete_argument("", tui)] == ["default", "fullscreen"]
    assert [each.text for each in complete_argument("fu", tui)][:1] == ["fullscreen"]
    assert complete_argument("fullscreen x", tui) == []
    assert argument_choices("[model|off] <n>") == ("model", "off")
    assert argument_choices("<path>") == ()


@table(
    ("text", "expected"),
    [
        ("/comp", Trigger(kind="command", query="comp", start=0)),
        ("/", Trigger(kind="command", query="", start=0)),
        ("/tui full", Trigger(kind="argument", query="full", start=5, command="tui")),
        ("/review @src/m", Trigger(kind="mention", query="src/m", start=8)),
        ("see @src/ma", Trigger(kind="mention", query="src/ma", start=4)),
        ("see @", Trigger(kind="mention", query="", start=4)),
        ('see @"my fi', Trigger(kind="mention", query="my fi", start=4, quoted=True)),
        ("(@~/x", Trigger(kind="mention", query="~/x", start=1)),
        ("@docs:file://a", Trigger(kind="mention", query="docs:file://a", start=0)),
        ("mail me@example", None),
        ("no /command here", None),
        ("@done now", None),
        ("/usr/bin", None),
    ],
)
def test_text_before_the_cursor_tells_what_is_completed(text: str, expected: Trigger | None):
    assert trigger_at(text, len(text)) == expected


def test_only_what_stands_before_the_cursor_counts():
    assert trigger_at("see @src and more", 7) == Trigger(kind="mention", query="sr", start=4)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("!ls", "bash"),
        ("# note", "memory"),
        ("/help", "command"),
        ("/usr/bin is full", "prompt"),
        ("hi", "prompt"),
    ],
)
def test_first_character_decides_what_the_input_is(text: str, mode: str):
    assert mode_of(text) == mode


@given(st.text(max_size=30), st.integers(-3, 40))
def test_any_text_can_be_looked_at(text: str, cursor: int):
    mode_of(text)
    trigger = trigger_at(text, cursor)
    assert trigger is None or 0 <= trigger.start <= max(0, cursor)
