from typing import Any

import pytest

from bridle.cli.args import parse
from bridle.cli.flags import FLAGS
from bridle.cli.help import text
from bridle.types.errors import UsageError


def test_values_may_follow_or_be_joined():
    args = parse(["--model", "opus", "--output-format=json", "-p", "hello", "world"])
    assert (args.text("model"), args.text("output-format"), args.on("print")) == ("opus", "json", True)
    assert args.words == ("hello", "world")


def test_empty_values_mean_something():
    args = parse(["--system-prompt", "", "--tools=", "--setting-sources="])
    assert (args.text("system-prompt"), args.many("tools"), args.text("setting-sources")) == ("", [""], "")


def test_value_may_look_like_a_flag_when_it_is_joined():
    assert parse(["--append-system-prompt=--be brief"]).text("append-system-prompt") == "--be brief"


def test_flag_with_many_values_takes_words_up_to_the_next_flag_and_may_be_repeated():
    args = parse(["--allowedTools", "Read", "Bash(git log:*)", "-p", "go", "--allowed-tools", "Edit,Write"])
    assert args.many("allowedTools") == ["Read", "Bash(git log:*)", "Edit,Write"]
    assert args.words == ("go",)


def test_optional_value_may_be_missing():
    assert parse(["--resume", "-p"]).on("resume")
    assert parse(["-r", "abc", "-p"]).text("resume") == "abc"
    assert parse(["--resume=abc"]).text("resume") == "abc"


def test_everything_after_two_dashes_is_a_word():
    assert parse(["-p", "--", "--model", "-x"]).words == ("--model", "-x")


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["--nonsense"], "unknown option '--nonsense'"),
        (["--modle", "x"], "did you mean --model?"),
        (["-x"], "unknown option '-x'"),
        (["--model"], "needs a value"),
        (["--output-format", "xml"], "takes one of text, json, stream-json"),
        (["--teleport", "x"], "not part of this version"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_a_sentence(argv: list[str], complaint: str):
    with pytest.raises(UsageError, match=complaint):
        parse(argv)


@pytest.mark.parametrize(("value", "least"), [("0", 1), ("-3", 1), ("many", 1), ("-1", 0)])
def test_numbers_are_checked(value: str, least: int):
    with pytest.raises(UsageError, match="whole number"):
        parse([f"--max-turns={value}"]).whole("max-turns", least=least)


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "cheap"])
def test_amounts_are_positive(value: str):
    with pytest.raises(UsageError, match="positive number"):
        parse([f"--max-budget-usd={value}"]).amount("max-budget-usd")


def test_no_two_flags_share_a_name():
    names = [name for flag in FLAGS for name in flag.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("argv", "value", "words"),
    [
        (["--tmux", "fix it"], True, ("fix it",)),
        (["--tmux=classic", "fix it"], "classic", ("fix it",)),
        (["--tmux", "classic"], "classic", ()),
    ],
)
def test_what_follows_a_flag_with_fixed_values_is_its_value_only_if_it_is_one(
    argv: list[str], value: Any, words: tuple[str, ...]
):
    args = parse(argv)
    assert (args.values["tmux"], args.words) == (value, words)


def test_a_flag_with_fixed_values_takes_no_other():
    with pytest.raises(UsageError):
        parse(["--tmux=modern"])


def test_help_lists_every_flag_that_has_a_description():
    shown = text()
    assert all(flag.names[-1] in shown for flag in FLAGS if flag.help)
    assert max(map(len, shown.splitlines())) <= 120
