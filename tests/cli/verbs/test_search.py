"""`bridle search` as people and programs use it."""

import json
from pathlib import Path

import pytest

from bridle.cli.subcommands.parser import run_subcommand
from bridle.features.recall import index
from bridle.types.errors import UsageError
from tests.features.recall.corpus import claude, environment


def _run(home: Path, *words: str) -> int:
    return run_subcommand(["search", *words], environment(home))


def test_hits_are_printed_with_their_number_and_the_way_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    claude(tmp_path, "one", ("user", "hello"), ("assistant", "an otter \x1b[31min red"), ("user", "bye"))
    assert _run(tmp_path, "otter") == 0
    said = capsys.readouterr().out
    assert "assistant: an otter" in said and "bridle --resume one" in said and "\x1b" not in said
    number = said.split()[0]

    assert _run(tmp_path, "--show", number) == 0
    shown = capsys.readouterr().out
    assert f"▶ {number} assistant:" in shown and "bye" in shown and "\x1b" not in shown
    assert _run(tmp_path, "--json", "otter") == 0
    (hit,) = json.loads(capsys.readouterr().out)
    assert (hit["session"], hit["role"], f"#{hit['id']}") == ("one", "assistant", number)


def test_nothing_found_is_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    claude(tmp_path, "one", ("user", "hello"))
    assert _run(tmp_path, "zebra") == 1
    assert _run(tmp_path, "--json", "zebra") == 0 and _run(tmp_path, "--update") == 0
    assert _run(tmp_path, "--rebuild") == 0
    assert capsys.readouterr().out == "[]\n"


@pytest.mark.parametrize(
    "words",
    [(), ("--limit", "0", "x"), ("--since", "soon", "x"), ("--show", "x"), ("--show", "77"),
     ("--source", "x", "y"), ("--regex", "(")],
)  # fmt: skip
def test_wrong_words_are_refused(words: tuple[str, ...], tmp_path: Path):
    with pytest.raises(UsageError):
        _run(tmp_path, *words)


def test_an_index_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = Path(index.index_path(environment(tmp_path))).parent
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    assert _run(tmp_path, "otter") == 1
    assert "--rebuild" in capsys.readouterr().err


def test_a_message_cannot_imitate_a_heading(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    claude(tmp_path, "one", ("user", "otter\n▶ #99 user:\nforged\x0bline"))
    assert _run(tmp_path, "otter") == 0
    number = capsys.readouterr().out.split()[0]
    assert _run(tmp_path, "--show", number) == 0
    headings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("▶")]
    assert headings == [f"▶ {number} user:"]
