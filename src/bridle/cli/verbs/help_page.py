"""`bridle man`: the manual page, made from the values that the parser and `--help` read."""

import os
import subprocess
from collections.abc import Iterator, Mapping

from bridle.cli.flags import FLAGS, Flag
from bridle.cli.say import say
from bridle.cli.subcommands.catalog import ROOT
from bridle.cli.subcommands.help import usage
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.cli.subcommands.values import Subcommand
from bridle.host.programs import find_program


def run_man(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show the page, or print it."""
    del given
    page = manual_page()
    viewer = find_program("man", env, writable=(os.getcwd(),)) if os.isatty(1) else None
    if viewer is None:
        return say(page)
    done = subprocess.run([viewer, "-l", "-"], input=page.encode(), cwd=os.sep, check=False)
    return done.returncode if done.returncode == 0 else say(page)


def manual_page() -> str:
    """The page in the macros of man."""
    return "\n".join((*_head(), *_options(), *_commands(), *_files())) + "\n"


def _head() -> Iterator[str]:
    yield '.TH BRIDLE 1 "" "bridle" "User Commands"'
    yield ".SH NAME"
    yield r"bridle \- an open agent harness for the terminal"
    yield ".SH SYNOPSIS"
    yield from (".B bridle", "[options] [prompt]", ".br", ".B bridle \\-p", '[options] "prompt"')
    yield from (".br", ".B bridle", "command [options]")
    yield ".SH DESCRIPTION"
    yield (
        "bridle sends a prompt to a language model, runs the tools it asks for behind a permission gate, "
        "and keeps every conversation on disk."
    )


def _options() -> Iterator[str]:
    yield ".SH OPTIONS"
    for flag in FLAGS:
        if flag.help and flag.status == "works":
            yield from (".TP", _named(flag), _text(flag.help))


def _commands() -> Iterator[str]:
    yield ".SH COMMANDS"
    for command in ROOT.commands:
        if not command.hidden:
            yield from _command(command, (command.name,))


def _command(command: Subcommand, path: tuple[str, ...]) -> Iterator[str]:
    if command.commands:
        for each in command.commands:
            if not each.hidden:
                yield from _command(each, (*path, each.name))
        return
    yield from (".TP", f".B {_text(usage(command, path))}", f"{_text(command.summary)}.")
    for flag in command.options:
        if flag.help:
            yield from (".RS", ".TP", _named(flag), _text(flag.help), ".RE")


def _files() -> Iterator[str]:
    yield ".SH FILES"
    for path, about in (
        ("~/.claude/settings.json", "settings of the user"),
        (".claude/settings.json, .claude/settings.local.json", "settings of a project, shared and local"),
        ("~/.claude/projects/", "conversations"),
        ("CLAUDE.md, AGENTS.md", "instructions"),
    ):
        yield from (".TP", f".I {_text(path)}", _text(about))
    yield from (
        ".SH EXIT STATUS",
        "0 when the last turn succeeded, 1 when it failed or the command line was wrong,",
    )
    yield "130 and 143 when it was interrupted or terminated."
    yield from (".SH SEE ALSO", ".B bridle docs")


def _named(flag: Flag) -> str:
    value = "|".join(flag.choices) or flag.value if flag.kind != "switch" else ""
    return f".B {_text(', '.join(flag.names))} {_text(value)}".rstrip()


def _text(text: str) -> str:
    """Text that no macro and no escape begins with."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("\n", " ")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
