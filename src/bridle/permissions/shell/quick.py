"""Decides about very many commands, for the fuzzer: the gate's own code, stopped at the first doubt.

    from bridle.permissions.shell.quick import reads_only
    reads_only("ls -la", cwd="/srv/project", home="/home/me")  # True

It is true for exactly the commands that the gate lets run unasked in the default mode with no rules, in a
trusted folder that is the only working directory. What is left after the cheap part passes the whole gate,
so there is no second opinion that could differ."""

from bridle.permissions.policy import decide
from bridle.permissions.prepare import Asked, Standing, prepare
from bridle.permissions.shell.reading import only_reads
from bridle.types.permission import Allow


def reads_only(command: str, *, cwd: str, home: str) -> bool:
    """Whether a command would run unasked, with nobody and no rule to vouch for it."""
    if not only_reads(command, cwd=cwd, home=home):
        return False
    standing = Standing(cwd=cwd, start=cwd, home=home, config_home=f"{home}/.claude")
    asked = Asked(tool="Bash", input={"command": command}, subject=command)
    return isinstance(decide(prepare(asked, standing)), Allow)
