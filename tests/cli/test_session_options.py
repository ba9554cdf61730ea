"""The command line becomes the options of a session, and the options a command line again."""

from typing import Any, get_args

import msgspec
import pytest

from bridle.cli.args import parse
from bridle.cli.flags import EFFORTS as EFFORT_WORDS
from bridle.cli.flags import FLAGS, Flag
from bridle.cli.options import flags_of, session_options
from bridle.config.options import EFFORTS, SessionOptions, field_of
from bridle.types.errors import UsageError

_OF_THE_PROGRAM = {"background", "exec", "help", "tmux", "version"}
"""Flags that start something else than a session, or say where."""
_FIELDS = {field.name: field for field in msgspec.structs.fields(SessionOptions)}
_OF_SESSIONS = [flag for flag in FLAGS if flag.status == "works" and flag.key not in _OF_THE_PROGRAM]


def _line(flag: Flag) -> list[str]:
    """A command line with this flag, and all that it may take."""
    name = flag.names[-1]
    match flag.kind:
        case "switch":
            return [name]
        case "many" | "each" | "pairs":
            return [f"{name}=a,b", f"{name}=-c"]
        case "value" | "optional":
            number = "7" if "int" in str(_FIELDS[field_of(flag.key)].type) else "--x y"
            number = "0.25" if flag.key == "max-budget-usd" else number
            return [f"{name}={flag.choices[-1] if flag.choices else number}"]


def test_every_flag_of_a_session_has_a_field_and_every_field_a_flag():
    flags = {field_of(flag.key) for flag in FLAGS if flag.status != "later"}
    assert {field_of(flag.key) for flag in _OF_SESSIONS} <= set(_FIELDS)
    assert set(_FIELDS) - flags == {"prompt", "draft", "draft_note", "interactive", "job"}


def test_every_flag_becomes_a_value_of_the_fields_type_and_the_same_flag_again():
    for flag in _OF_SESSIONS:
        options = session_options(parse(_line(flag)))
        changed = msgspec.to_builtins(options)
        assert list(changed) == [field_of(flag.key)], flag.key
        assert msgspec.convert(changed, SessionOptions) == options
        assert session_options(parse(flags_of(options))) == options


def test_optional_values_that_are_left_out_come_back_without_one():
    options = session_options(parse(["--resume", "--worktree", "--remote-control"]))
    assert (options.resume, options.worktree, options.remote_control) == (True, True, True)
    assert session_options(parse(flags_of(options))) == options


def test_words_are_the_prompt_and_who_is_there_is_no_flag():
    options = session_options(parse(["--model", "opus", "fix", "it"]), interactive=True, job="/job")
    assert options == SessionOptions(model="opus", prompt="fix it", interactive=True, job="/job")
    assert flags_of(options, without=("model",)) == []


@pytest.mark.parametrize("given", [[], [""], ["Read"]])
def test_a_list_of_tools_may_be_empty(given: list[str]):
    again = session_options(parse(flags_of(SessionOptions(tools=tuple(given)))))
    assert [name for name in again.tools or () if name] == [name for name in given if name]
    assert again.tools is not None


def test_choices_of_flags_are_those_of_the_fields():
    for flag in _OF_SESSIONS:
        if flag.choices and flag.key != "effort":
            taken = {each for kind in get_args(_FIELDS[field_of(flag.key)].type) for each in get_args(kind)}
            assert set(flag.choices) <= taken, flag.key
    assert EFFORT_WORDS == EFFORTS


@pytest.mark.parametrize(
    "argv",
    [
        ["--max-turns=0"],
        ["--max-turns=x"],
        ["--max-thinking-tokens=-1"],
        ["--max-budget-usd=nan"],
        ["--max-budget-usd=-1"],
        ["--task-budget=0.5"],
        ["--tmux"],
    ],
)
def test_values_that_cannot_be_used_are_refused(argv: list[str]):
    with pytest.raises(UsageError):
        session_options(parse(argv))


def test_options_pass_through_json_unchanged():
    options = SessionOptions(model="opus", allowed_tools=("Read",), resume=True, max_budget_usd=0.5)
    written: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(options))
    assert set(written) == {"model", "allowed_tools", "resume", "max_budget_usd"}
    assert msgspec.json.decode(msgspec.json.encode(options), type=SessionOptions) == options
