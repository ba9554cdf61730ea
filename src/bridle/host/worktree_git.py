"""Git commands that change work trees, and ask nobody for a password on the way."""

from collections.abc import Mapping

from bridle.host import git_runs

_SECONDS = 120.0


async def run_git(
    cwd: str, env: Mapping[str, str], *words: str, given: str = "", seconds: float = _SECONDS
) -> tuple[int, str]:
    """Run git with something to read; its code and what it said, or complained about when it failed."""
    quiet = {name: value for name, value in env.items() if name != "SSH_ASKPASS"}
    done = await git_runs.run_git(
        cwd, {**quiet, "SSH_ASKPASS_REQUIRE": "never"}, *words, given=given, seconds=seconds
    )
    return done.code, done.output if done.ok else done.complaint or done.output
