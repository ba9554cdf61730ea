"""One parser reads the words behind every subcommand."""

import importlib.util
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from bridle.cli.flags import ALIASES, FLAGS, SUBCOMMANDS
from bridle.cli.subcommands.catalog import ROOT
from bridle.cli.subcommands.help import help_text
from bridle.cli.subcommands.parser import HelpRequested, ParsedArguments, read
from bridle.cli.subcommands.values import Argument, Flag, Subcommand, number, option, repeated, switch
from bridle.types.errors import CommandLineError
from tests.fakes.program import Program
from tests.tables import table

_ROOT = Path(__file__).parents[3]
_TREE = Subcommand(
    "bridle",
    "",
    commands=(
        Subcommand(
            "paint", "Paint a wall", "x:y",
            arguments=(Argument("wall", "which"), Argument("colors", "which", "many")),
            options=(
                switch("-q", "--quick", help="hurry"),
                option("-c", "--coat", value="coat", help="how", choices=("thin", "thick"), default="thin"),
                number("--times", value="n", help="how often", most=9),
                repeated("--helper", value="name", help="who helps"),
                Flag(("-e", "--env"), "pairs", "variables", "KEY=value"),
            ),
        ),
        Subcommand(
            "group", "A group", default="show",
            commands=(
                Subcommand("show", "Show", "x:y", aliases=("s",), options=(switch("--json", help="JSON"),)),
                Subcommand("set", "Set", "x:y", arguments=(Argument("way", "how", choices=("on", "off")),)),
                Subcommand(
                    "run", "Run it", "x:y",
                    arguments=(Argument("file", "which"), Argument("rest", "of a run", "some", passed=True)),
                ),
                Subcommand(
                    "wrap", "Wrap it", "x:y", options=(switch("-v", "--loud", help="be loud"),),
                    arguments=(Argument("program", "it"), Argument("args", "", "many", raw=lambda _: True)),
                ),
            ),
        ),
    ),
)  # fmt: skip


def _values(*words: str) -> dict[str, object]:
    _, given = read(_TREE, words)
    assert isinstance(given, ParsedArguments)
    return {"command": given.command, **given.values}


@table(
    ("words", "expected"),
    [
        ("paint a", {"wall": "a", "colors": []}),
        ("paint a red blue", {"wall": "a", "colors": ["red", "blue"]}),
        ("paint --coat thick a", {"wall": "a", "colors": [], "coat": "thick"}),
        ("paint --coat=thick -q a", {"wall": "a", "colors": [], "coat": "thick", "quick": True}),
        ("paint -c thick -c thin a", {"wall": "a", "colors": [], "coat": "thin"}),
        ("paint a --helper b --helper=c", {"wall": "a", "colors": [], "helper": ["b", "c"]}),
        ("paint a --helper=b=c", {"wall": "a", "colors": [], "helper": ["b=c"]}),
        ("paint a --helper=", {"wall": "a", "colors": [], "helper": [""]}),
        ("paint -- --quick -c", {"wall": "--quick", "colors": ["-c"]}),
        ("paint a - -- --", {"wall": "a", "colors": ["-", "--"]}),
        ("paint -e A=1 B=2 a C=3", {"wall": "a", "colors": ["C=3"], "env": ["A=1", "B=2"]}),
        ("paint --times 9 a", {"wall": "a", "colors": [], "times": "9"}),
        ("paint -- help", {"wall": "help", "colors": []}),
        ("paint help x", {"wall": "help", "colors": ["x"]}),
    ],
)
def test_words_are_sorted_into_options_and_arguments(words: str, expected: dict[str, object]):
    assert _values(*words.split()) == {"command": ("paint",), **expected}


@table(
    ("words", "command", "expected"),
    [
        ("group", "show", {}),
        ("group --json", "show", {"json": True}),
        ("group --json show", "show", {"json": True}),
        ("group s --json", "show", {"json": True}),
        ("group set on", "set", {"way": "on"}),
        ("group run f -- -p --json", "run", {"file": "f", "rest": ["-p", "--json"]}),
        ("group wrap -v ls -l --loud", "wrap", {"loud": True, "program": "ls", "args": ["-l", "--loud"]}),
        ("group wrap -- ls -h", "wrap", {"program": "ls", "args": ["-h"]}),
        ("group wrap ls -h", "wrap", {"program": "ls", "args": ["-h"]}),
    ],
)
def test_a_group_hands_its_words_to_the_command_that_is_named(
    words: str, command: str, expected: dict[str, object]
):
    assert _values(*words.split()) == {"command": ("group", command), **expected}


@table(
    ("words", "told"),
    [
        ("paint", "missing argument <wall>; see bridle paint --help"),
        ("paint a --quik", "unknown option --quik: did you mean --quick? See bridle paint --help."),
        ("paint a --qui", "unknown option --qui: did you mean --quick? See bridle paint --help."),
        ("paint a --zzz=1", "unknown option --zzz; see bridle paint --help"),
        ("paint a -x", "unknown option -x; see bridle paint --help"),
        ("paint a --coat", "option '--coat' needs a value: --coat <coat>; see bridle paint --help"),
        (
            "paint a -c tick",
            "--coat takes one of thin, thick, not 'tick': did you mean thick? See bridle paint --help.",
        ),
        ("paint a --times 10", "--times takes a whole number from 1 to 9, not '10'; see bridle paint --help"),
        ("paint a --times ٣", "--times takes a whole number from 1 to 9, not '٣'; see bridle paint --help"),
        (
            "paint a --quick=yes",
            "--quick takes no value: --quick=yes; see bridle paint --help",
        ),
        ("group shwo", "unknown command 'shwo': did you mean show? See bridle group --help."),
        ("group show x", "unexpected argument 'x'; see bridle group show --help"),
        ("group set", "missing argument on|off; see bridle group set --help"),
        (
            "group set onn",
            "<way> takes one of on, off, not 'onn': did you mean on? See bridle group set --help.",
        ),
        ("group --jsno", "unknown option --jsno: did you mean --json? See bridle group --help."),
        (
            "group run f -p",
            "put -- before the flags and the prompt: bridle group run <file> -- <rest>…; "
            "see bridle group run --help",
        ),
        ("group run -- -p", "missing argument <file>; see bridle group run --help"),
        ("group run f", "missing argument -- <rest>…; see bridle group run --help"),
        ("group help shwo", "unknown command 'shwo': did you mean show? See bridle group --help."),
        ("pant a", "unknown command 'pant': did you mean paint? See bridle --help."),
    ],
)
def test_wrong_words_are_answered_with_what_was_meant_and_where_help_is(words: str, told: str):
    with pytest.raises(CommandLineError) as raised:
        read(_TREE, words.split())
    assert str(raised.value) == told


@table(
    ("words", "path"),
    [
        ("paint --help", "paint"),
        ("paint a -h", "paint"),
        ("paint --nonsense --help", "paint"),
        ("paint help", "paint"),
        ("group --help", "group"),
        ("group help", "group"),
        ("group -h show", "group show"),
        ("group show --help", "group show"),
        ("group show help", "group show"),
        ("group help set", "group set"),
        ("group help s", "group show"),
        ("group run --help", "group run"),
    ],
)
def test_help_can_be_asked_for_at_every_place(words: str, path: str):
    _, given = read(_TREE, words.split())
    assert isinstance(given, HelpRequested) and " ".join(given.path) == path


def test_options_are_never_taken_by_their_beginnings():
    with pytest.raises(CommandLineError):
        read(_TREE, ["paint", "a", "--qu"])


def _all(command: Subcommand, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Subcommand]]:
    inner = [found for each in command.commands for found in _all(each, (*path, each.name))]
    return [(path, command), *inner]


_EVERY = _all(ROOT)[1:]


def test_every_subcommand_and_nested_one_has_help():
    for path, command in _EVERY:
        _, given = read(ROOT, [*path, "--help"])
        assert isinstance(given, HelpRequested) and given.command is command
        text = help_text(given.command, given.path)
        assert text.startswith(f"Usage: bridle {' '.join(path)}"), path
        assert command.summary in text and "-h, --help" in text
        for flag in command.options:
            assert not flag.help or flag.names[-1] in text
        for argument in command.arguments:
            assert argument.help.split()[0] in text


def test_every_subcommand_can_be_run_and_its_names_are_clear():
    for path, command in _EVERY:
        names = [each.key for each in command.options] + [each.name for each in command.arguments]
        assert len(set(names)) == len(names), path
        called = [name for each in command.commands for name in (each.name, *each.aliases)]
        assert len(set(called)) == len(called), path
        assert bool(command.run) != bool(command.commands), path
        assert not command.default or command.find(command.default) is not None
        if command.run:
            module, _, name = command.run.partition(":")
            assert callable(getattr(import_module(f"bridle.cli.{module}"), name)), path


def test_every_example_can_be_read():
    for path, command in _EVERY:
        for example in command.examples:
            words = _words(example)
            if words[:1] == ["bridle"]:
                found, given = read(ROOT, words[1:])
                assert found is command, example
                assert path[0] == "help" or isinstance(given, ParsedArguments)


def _words(example: str) -> list[str]:
    words = shlex.split(example)
    return words[words.index("|") + 1 :] if "|" in words else words


def test_the_names_that_are_known_at_the_start_are_those_of_the_catalog():
    shown = [each for each in ROOT.commands if not each.hidden]
    assert [each.name for each in shown] == list(SUBCOMMANDS)
    assert {each.name: each.summary for each in shown} == SUBCOMMANDS
    assert {alias: each.name for each in shown for alias in each.aliases} == ALIASES


def test_flags_of_sessions_mean_the_same_behind_subcommands():
    own = {id(flag) for flag in FLAGS}
    known = {name: flag for flag in FLAGS for name in flag.names}
    for path, command in _EVERY:
        for flag in command.options:
            if id(flag) in own:
                assert known[flag.names[-1]] is flag, path


def test_the_page_of_subcommands_is_as_make_tables_writes_it():
    found = importlib.util.spec_from_file_location("write_cli_docs", _ROOT / "scripts" / "write_cli_docs.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    assert (_ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == module.page(), "run make tables"
    assert (_ROOT / "man" / "bridle.1").read_text(encoding="utf-8") == module.manual_page(), "run make tables"


async def test_help_is_on_standard_output_and_wrong_words_end_with_code_two(tmp_path: Path):
    program = Program(tmp_path)
    for words in (("mcp", "add", "--help"), ("help", "mcp", "add"), ("mcp", "help", "add")):
        done = await program.run(*words)
        assert (done.code, done.err) == (0, "") and done.out.startswith("Usage: bridle mcp add [options]")
    done = await program.run("mcp", "add", "--scop", "user", "a", "b")
    told = "error: unknown option --scop: did you mean --scope? See bridle mcp add --help.\n"
    assert (done.code, done.out, done.err) == (1, "", told)
    plain = await program.run("help")
    assert (plain.code, plain.out) == (0, (await program.run("--help")).out)


def test_a_missing_extra_is_named_with_the_command_that_installs_it():
    code = (
        "import sys; sys.modules['starlette'] = None; sys.argv = ['bridle', 'hub', 'status'];"
        "from bridle.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    wanted = "error: starlette is not installed; run: pip install 'bridle[hub]'"
    assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", wanted)
