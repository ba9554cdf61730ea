"""`bridle policy test`: a file of calls with the decision that each must get, for CI."""

import os
import re
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from bridle.cli.policy.deciding import WORDS, read_rules
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.cli.verbs.hypothetical_calls import imagine
from bridle.cli.verbs.policy import position_for, read_call
from bridle.config.load import load
from bridle.permissions.policy import decide
from bridle.permissions.preparation import prepare
from bridle.types.errors import ConfigError, ToolError, UsageError
from bridle.types.permission import MODES, Mode

_LINE = re.compile(r"(allow|ask|deny)(?:\s+\[(\w+)\])?\s+(\S.*)")


class Expectation(Struct, frozen=True, kw_only=True):
    """One line of the file."""

    line: int
    wanted: str
    mode: Mode
    call: str


def run_test(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Check every expectation; 1 if one is not met.

    Raises:
        UsageError: a line cannot be read.
        ConfigError: the file or the rules cannot be read.
    """
    path = given.one("file")
    expected = list(_read(path))
    if not expected:
        raise UsageError(f"{path} has no expectations. Write lines such as: deny Bash(git push)")
    sources = given.text("setting-sources")
    chosen = None if sources is None else tuple(part.strip() for part in sources.split(",") if part.strip())
    cwd = os.getcwd()
    # What a folder says can be tested before anyone trusts it.
    config = load(cwd=cwd, env=env, flag=None, setting_sources=chosen, trusted=True)
    own = None if (file := given.text("rules")) is None else read_rules(file).rules
    failed: list[dict[str, object]] = []
    for each in expected:
        position = position_for(config, each.mode, env, cwd, trusted=True)
        if own is not None:
            position = msgspec.structs.replace(position, rules=own)
        name, input = read_call(each.call)
        try:
            decision = decide(prepare(imagine(name, input, cwd=cwd, home=position.home), position))
            got, reason = WORDS[type(decision)], decision.reason
        except ToolError as error:
            got, reason = "deny", f"the tool refuses this input: {error}"
        if got != each.wanted:
            failed.append(
                {"line": each.line, "call": each.call, "wanted": each.wanted, "got": got, "reason": reason}
            )
    if given.on("json"):
        values = {"expectations": len(expected), "failed": failed}
        say(msgspec.json.format(msgspec.json.encode(values), indent=2).decode() + "\n")
    else:
        tell(
            *(
                f"{path}:{each['line']}: {each['call']}: {each['got']}, not {each['wanted']}: "
                f"{each['reason']}"
                for each in failed
            ),
            f"{len(expected)} expectations, {len(failed) or 'none'} failed",
        )
    return 1 if failed else 0


def _read(path: str) -> Iterator[Expectation]:
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: {error}.") from error
    for number, text in enumerate(lines, 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(text.strip())
        modes: list[Mode] = [each for each in MODES if found is not None and each == (found[2] or "default")]
        if found is None or not modes:
            raise UsageError(
                f"{path}:{number}: write allow, ask or deny, perhaps [mode], and a call: {text!r}"
            )
        yield Expectation(line=number, wanted=found[1], mode=modes[0], call=found[3])
