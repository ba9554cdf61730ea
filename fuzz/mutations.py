"""Real commands with pieces put in, taken out, doubled, moved or spelled in another way."""

import random
import re
from collections.abc import Sequence

from fuzz.commands import PAYLOADS

PIECES = (
    "'", '"', "`", "\\", "\\\n", "\n", "\t", " ", "$", "$(", ")", "${", "}", "$((", "))", "((", "(", "{",
    "[[", "]]", "[", "]", "<<E\n", "\nE\n", "\nE", "<<-E\n", "<<'E'\n", "<<<", ">", ">>", ">|", "<", "<>",
    "&>", ">&", "2>&1", "|", "|&", "&&", "||", ";", ";;", "&", "#", " #", "!", "! ", "*", "?", "~", "=",
    "x=", "+=", "{a,b}", "<(", ">(", "$'", "$\"", "$\\\n", "$x", "${x@P}", "${!x}", "$IFS", " -eq ", " -o ",
    " -exec ", " -- ", "--", "-", " - ", "@", "$@", "$*", "function f { ", "f() { ", "case x in ", "esac",
    "if ", "then ", "else ", "fi", "do ", "done", "for x in ", "while ", "time ", "coproc ", "eval ",
    "exec ", "cd .. && ", "cd src && ", "set -f; ", "shopt -s extglob; ", "+(a)", "@(a)", "!(a)",
    "[[:alpha:]]", "[!a]", "\\x{24}", "\\c", "\u00a0", "\r", "a[$(", "]", "E", "{", "}", "1>", "{fd}>",
    "x[0]=", "%", "^", ":", ",", "..", "/", "//", "/dev/stdin", "\x0b", "\x0c", "é",
    *(f"$({payload})" for payload in PAYLOADS[:6]), *(f"; {payload}" for payload in PAYLOADS[:6]),
    *(f" || {payload} " for payload in PAYLOADS[:3]), *(f"`{payload}`" for payload in PAYLOADS[:3]),
)  # fmt: skip
_TOKENS = re.compile(r"\s+|[\w./-]+|.", re.DOTALL)


class Mutator:
    """Changes commands of a corpus."""

    def __init__(self, corpus: Sequence[str], choose: random.Random) -> None:
        self._corpus = corpus
        self._tokens = [_TOKENS.findall(command) for command in corpus]
        self._choose = choose

    def command(self) -> str:
        """One of the corpus, changed a little, by characters or by tokens."""
        choose = self._choose
        if choose.random() < 0.5:
            return self._by_characters(choose.choice(self._corpus))
        tokens = list(choose.choice(self._tokens))
        for _ in range(choose.randint(1, 3)):
            self._change(tokens)
        return "".join(tokens)

    def _by_characters(self, command: str) -> str:
        choose = self._choose
        for _ in range(choose.randint(1, 3)):
            at = choose.randrange(len(command) + 1)
            chance = choose.random()
            if chance < 0.6:
                command = command[:at] + choose.choice(PIECES) + command[at:]
            elif chance < 0.8:
                command = command[:at] + command[at + choose.randint(1, 4) :]
            else:
                to = min(len(command), at + choose.randint(1, 8))
                command = command[:to] + command[at:to] + command[to:]
        return command

    def _change(self, tokens: list[str]) -> None:
        choose = self._choose
        at = choose.randrange(len(tokens) + 1)
        chance = choose.random()
        if chance < 0.45 or not tokens:
            tokens.insert(at, choose.choice(PIECES))
        elif chance < 0.6:
            del tokens[at : at + choose.randint(1, 2)]
        elif chance < 0.75:
            other = choose.choice(self._tokens)
            start = choose.randrange(len(other)) if other else 0
            tokens[at:at] = other[start : start + choose.randint(1, 5)]
        elif chance < 0.9:
            at = min(at, len(tokens) - 1)
            tokens[at] = choose.choice(PIECES)
        else:
            at = min(at, len(tokens) - 1)
            tokens.insert(choose.randrange(len(tokens)), tokens.pop(at))
