"""Allow rules that auto mode does not use, because any code could run behind them unreviewed."""

import re
from collections.abc import Iterable

from bridle.permissions.tool_names import SHELLS
from bridle.types.permission import Effect, Mode, Rule

_RUNNERS = frozenset((
    "bash", "sh", "zsh", "fish", "dash", "ksh", "pwsh", "powershell", "cmd",
    "python", "pypy", "node", "deno", "tsx", "ts-node", "bun", "ruby", "perl", "php", "lua",
    "npx", "bunx", "uvx",
    "iex", "invoke-expression", "invoke-command", "icm", "start-process", "add-type",
))  # fmt: skip
"""Programs that run the code that their arguments give or name."""
_PACKAGERS = frozenset({"npm", "yarn", "pnpm", "bun", "deno", "uv", "pipx"})
_VERBS = ("run", "exec", "eval", "task", "dlx", "x")
"""Words of theirs behind which a script or code is named."""
_PASSING = frozenset((
    "sudo", "doas", "env", "exec", "eval", "xargs", "timeout", "time", "nice", "nohup", "stdbuf", "command",
    "builtin", "setsid", "watch",
))  # fmt: skip
"""Programs that run the command behind them."""
_REMOTE = frozenset({"ssh"})
_NAMES = _RUNNERS | _PACKAGERS | _PASSING | _REMOTE
_DURATION = re.compile(r"[\d.]+[smhd]?")
_MOST_NAMED = 10


def kept_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that count in auto mode; the same value when all do."""
    kept = tuple(rule for rule in rules if not is_dangerous(rule))
    return rules if len(kept) == len(rules) else kept


def entry_notice(rules: Iterable[Rule]) -> str | None:
    """The notice on entering auto mode with rules that do not count there."""
    dropped = list(dict.fromkeys(str(rule) for rule in rules if is_dangerous(rule)))
    if not dropped:
        return None
    more = f" and {len(dropped) - _MOST_NAMED} more" if len(dropped) > _MOST_NAMED else ""
    named = ", ".join(dropped[:_MOST_NAMED]) + more
    return f"Auto mode ignores these allow rules, because they can run any code: {named}."


def mode_notice(before: Mode, after: Mode, rules: Iterable[Rule]) -> str | None:
    """The notice for a switch of the mode, if it enters auto mode."""
    return entry_notice(rules) if after == "auto" and before != "auto" else None


def is_dangerous(rule: Rule) -> bool:
    """Whether an allow rule covers a whole shell, or has a star where a program, script or code is named."""
    if rule.effect is not Effect.ALLOW or rule.tool not in SHELLS:
        return False
    fixed, star, _ = (rule.content or "*").partition("*")
    if not star:
        return False
    plain = re.sub(r"[\"'\\]", "", fixed).lower()
    words = plain.removesuffix(":").split()
    # `git st*` continues in the middle of a word, `git st:*` and `git st *` behind it.
    return _opens(words, is_cut=bool(words) and plain[-1] not in ": \t")


def _opens(words: list[str], *, is_cut: bool) -> bool:
    """Whether any code can follow; when `is_cut`, the last word is only the beginning of one."""
    words = _behind_passing(words, is_cut=is_cut)
    if not words:
        return True
    if len(words) == 1 and is_cut:
        return any(name.startswith(_base(words[0])) for name in _NAMES) or _is_runner(words[0])
    if _base(words[0]) in _REMOTE:
        return True
    operands = _operands(words, is_cut=is_cut)
    if operands is None:
        return False
    is_named = len(operands) > 1 or (len(operands) == 1 and not is_cut)
    return not is_named or operands[0].startswith("-")


def _behind_passing(words: list[str], *, is_cut: bool) -> list[str]:
    """The command behind wrappers and assignments; none when it is unclear where it begins."""
    passing = False
    while len(words) > is_cut:
        if passing and words[0].startswith("-"):
            # Whether the next word belongs to the option depends on the program.
            return []
        is_wrapper = _base(words[0]) in _PASSING or "=" in words[0]
        if not is_wrapper and not (passing and _DURATION.fullmatch(words[0])):
            break
        passing = True
        words = words[1:]
    return words


def _operands(words: list[str], *, is_cut: bool) -> list[str] | None:
    """What stands behind the part of the command that runs code; None when no part does."""
    if _base(words[0]) in _PACKAGERS:
        if len(words) == 1 or (len(words) == 2 and is_cut and any(v.startswith(words[1]) for v in _VERBS)):
            return []
        if words[1] in _VERBS:
            return words[2:]
    return words[1:] if _is_runner(words[0]) else None


def _is_runner(word: str) -> bool:
    base = _base(word)
    return base in _RUNNERS or re.sub(r"[\d.]+$", "", base) in _RUNNERS


def _base(word: str) -> str:
    return word.rpartition("/")[2].removesuffix(".exe")
