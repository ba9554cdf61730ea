"""`bridle ultrareview`: a review in depth, for scripts and CI."""

import json
from collections.abc import Mapping

from bridle.cli.args import parse
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.types.errors import UsageError

_READING = ("Bash(gh pr view:*)", "Bash(gh pr diff:*)", "Bash(gh pr checks:*)")
_POSTING = ("Bash(gh pr comment:*)", "Bash(gh pr review:*)")
_MINUTES = 60


def run_review(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Review the target in print mode and return the exit code.

    Raises:
        UsageError: the target or the timeout cannot be used.
    """
    from bridle.cli.headless.print_mode import run_print
    from bridle.cli.options import session_options

    target = given.text("target") or ""
    if target.startswith("-") or "\n" in target:
        raise UsageError(f"{target!r} is no pull request, branch or link")
    minutes = int(given.text("timeout") or _MINUTES)
    posts = given.on("post")
    wish = "Post the findings as one comment on the pull request with gh." if posts else ""
    argv = [
        "-p",
        " ".join(("/ultrareview", target, wish)).strip(),
        *(("--output-format", "json") if given.on("json") else ()),
        "--settings",
        json.dumps({"bridleBudgets": {"run": {"seconds": minutes * 60}}}),
        "--allowedTools",
        *_READING,
        *(_POSTING if posts else ()),
    ]
    return run_print(session_options(parse(argv)), env)
