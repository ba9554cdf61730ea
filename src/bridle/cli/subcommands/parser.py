"""Reads the words behind a subcommand and runs it."""

from collections.abc import Callable, Mapping, Sequence

from bridle.cli.args import Args, Values, did_you_mean, sort_words
from bridle.cli.flags import Flag
from bridle.cli.subcommands.values import HELP, Argument, Subcommand
from bridle.types.errors import CommandLineError, UsageError

_EXTRAS = {"starlette": "hub", "uvicorn": "hub"}
"""Packages that only some installations have, and the extra that brings them."""


class ParsedArguments(Args):
    """What a subcommand was given: options and arguments by name, and the names that led to it."""

    __slots__ = ("command",)

    def __init__(self, values: Values, command: tuple[str, ...]) -> None:
        super().__init__(values, ())
        self.command = command

    def one(self, name: str) -> str:
        """An argument that must be there."""
        text = self.text(name)
        assert text is not None
        return text

    def all(self, name: str) -> list[str]:
        """Every value of an option or argument; none if it was not given."""
        return self.many(name) or []

    def only(self, *names: str) -> Args:
        """These options alone, as flags of a session."""
        return Args({name: value for name, value in self.values.items() if name in names}, ())


class HelpRequested:
    """The help of a command was asked for."""

    __slots__ = ("command", "path")

    def __init__(self, command: Subcommand, path: tuple[str, ...]) -> None:
        self.command = command
        self.path = path


def run_subcommand(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run the subcommand that the first word names, or show its help; returns the exit code.

    Raises:
        CommandLineError: the words are wrong.
        BridleError: it cannot be done.
    """
    from bridle.cli.subcommands.catalog import ROOT

    found, given = read(ROOT, argv)
    if isinstance(given, HelpRequested):
        from bridle.cli.say import say
        from bridle.cli.subcommands.help import help_text

        return say(help_text(given.command, given.path))
    return _runner(found)(given, env)


def read(root: Subcommand, argv: Sequence[str]) -> tuple[Subcommand, ParsedArguments | HelpRequested]:
    """The command that is named below `root`, and what it is given.

    Raises:
        CommandLineError: there is no such command, or it does not take these words.
    """
    command, path, words = root, (), list(argv)
    while command.commands:
        before, name, after = _split(command, path, words)
        if name is None:
            inner = command.find(command.default)
            if inner is None or _asks_for_help(before):
                return command, HelpRequested(command, path)
            command, path, words = inner, (*path, inner.name), before
        elif name == "help" and (path or command.find("help") is None):
            return command, help_on(command, path, after)
        else:
            inner = command.find(name)
            if inner is None:
                raise _wrong(f"unknown command {name!r}{did_you_mean(name, _names(command))}", path)
            command, path, words = inner, (*path, inner.name), [*before, *after]
    return command, _read_leaf(command, path, words)


def _read_leaf(
    command: Subcommand, path: tuple[str, ...], words: list[str]
) -> ParsedArguments | HelpRequested:
    # A name that is `help` can be given behind `--`.
    if words == ["help"] and (len(path) == 1 or not command.arguments):
        return HelpRequested(command, path)
    raw_after = next(
        (at for at, each in enumerate(command.arguments) if each.raw is not None and each.raw(words)), None
    )
    known = _known(command)
    try:
        values, plain, behind = sort_words(
            words, known, _refusal(known, path), raw_after=raw_after, strict=True
        )
    except UsageError as error:
        if _asks_for_help(words):
            return HelpRequested(command, path)
        _require_dashes(command.arguments, words, path)
        raise error if isinstance(error, CommandLineError) else _wrong(str(error), path) from error
    if values.pop("help", None):
        return HelpRequested(command, path)
    _place(values, command.arguments, plain, behind, path)
    return ParsedArguments(values, path)


def _place(
    values: Values,
    arguments: Sequence[Argument],
    plain: list[str],
    behind: list[str] | None,
    path: tuple[str, ...],
) -> None:
    """Give each argument its words."""
    passes_on = any(each.passed for each in arguments)
    waiting = plain if passes_on else [*plain, *(behind or ())]
    for argument in arguments:
        if argument.passed:
            if not behind and argument.is_required:
                raise _wrong(f"missing argument {argument.shown}", path)
            values[argument.name] = behind or []
            continue
        taken = waiting[:] if argument.is_repeated else waiting[:1]
        waiting = waiting[len(taken) :]
        if not taken and argument.is_required:
            raise _wrong(f"missing argument {argument.shown}", path)
        for word in taken:
            _check(argument, word, path)
        if argument.is_repeated:
            values[argument.name] = taken
        elif taken:
            values[argument.name] = taken[0]
    if waiting:
        raise _wrong(f"unexpected argument {waiting[0]!r}", path)


def _require_dashes(arguments: Sequence[Argument], words: Sequence[str], path: tuple[str, ...]) -> None:
    """Options of a run that is passed on are not ours: say where they belong."""
    if "--" not in words and any(each.passed for each in arguments):
        shown = " ".join(("bridle", *path, *(each.shown for each in arguments)))
        raise _wrong(f"put -- before the flags and the prompt: {shown}", path)


def _check(argument: Argument, word: str, path: tuple[str, ...]) -> None:
    if argument.choices and word not in argument.choices:
        hint = did_you_mean(word, argument.choices)
        raise _wrong(
            f"<{argument.name}> takes one of {', '.join(argument.choices)}, not {word!r}{hint}", path
        )


def _split(
    group: Subcommand, path: tuple[str, ...], words: Sequence[str]
) -> tuple[list[str], str | None, list[str]]:
    """The options before the name of a command, the name, and the rest."""
    known = {name: flag for each in _leaves(group) for name, flag in _known(each).items()}
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--" or not word.startswith("-") or word == "-" or group.find(word) is not None:
            return list(words[:at]), word, list(words[at + 1 :])
        name, equals, _ = word.partition("=")
        if name not in known:
            raise _refusal(known, path)(name)
        takes = known[name].kind in ("value", "each", "pairs", "many") and not equals
        at += 2 if takes else 1
    return list(words), None, []


def help_on(command: Subcommand, path: tuple[str, ...], names: Sequence[str]) -> HelpRequested:
    """`bridle mcp help add` asks for the help of `bridle mcp add`."""
    for name in names:
        inner = command.find(name)
        if inner is None:
            if name.startswith("-") or not command.commands:
                break
            raise _wrong(f"unknown command {name!r}{did_you_mean(name, _names(command))}", path)
        command, path = inner, (*path, inner.name)
    return HelpRequested(command, path)


def _known(command: Subcommand) -> dict[str, Flag]:
    return {name: flag for flag in (*command.options, HELP) for name in flag.names}


def _leaves(group: Subcommand) -> list[Subcommand]:
    return [leaf for each in group.commands for leaf in (_leaves(each) if each.commands else (each,))]


def _names(group: Subcommand) -> list[str]:
    return [name for each in group.commands if not each.hidden for name in (each.name, *each.aliases)]


def _asks_for_help(words: Sequence[str]) -> bool:
    own = words[: words.index("--")] if "--" in words else words
    return bool({"-h", "--help"} & set(own))


def _refusal(known: Mapping[str, Flag], path: tuple[str, ...]) -> Callable[[str], UsageError]:
    listed = [name for name, flag in known.items() if flag.help]

    def refuse(name: str) -> UsageError:
        return _wrong(f"unknown option {name}{did_you_mean(name, listed)}", path)

    return refuse


def _wrong(text: str, path: tuple[str, ...]) -> CommandLineError:
    command = " ".join(("bridle", *path))
    see = f" See {command} --help." if text.endswith("?") else f"; see {command} --help"
    return CommandLineError(f"{text}{see}")


def _runner(command: Subcommand) -> Callable[[ParsedArguments, Mapping[str, str]], int]:
    from importlib import import_module

    module, _, name = command.run.partition(":")
    try:
        return getattr(import_module(f"bridle.cli.{module}"), name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        extra = _EXTRAS[package]
        raise UsageError(f"{package} is not installed; run: pip install 'bridle[{extra}]'") from error
