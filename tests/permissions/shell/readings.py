"""Commands read in a fixed project, in a few words."""

from bridle.permissions.shell import read_command
from bridle.types.shell import Part, Reading

CWD = "/srv/project"
HOME = "/home/someone"


def read(command: str, *, cwd: str = CWD) -> Reading:
    return read_command(command, cwd=cwd, home=HOME)


def only(command: str) -> Part:
    """The single part of a command that has one."""
    reading = read(command)
    assert reading.fault is None, reading.fault
    assert len(reading.parts) == 1, [part.text for part in reading.parts]
    return reading.parts[0]


def last(command: str) -> Part:
    reading = read(command)
    assert reading.fault is None, reading.fault
    return reading.parts[-1]


def texts(command: str) -> list[str]:
    return [part.text for part in read(command).parts]


def is_free(command: str, *, any_files: bool = True) -> bool:
    """Whether a command would run unasked: all of it harmless, inside, and nothing written.

    With `any_files`, whatever the files are called that its patterns match."""
    reading = read(command)
    return (
        reading.fault is None
        and not (any_files and any(part.expands for part in reading.parts))
        and not reading.leaves
        and all(part.harmless and not part.writes and part.unclear is None for part in reading.parts)
        and all(f"{path}/".startswith(f"{CWD}/") for part in reading.parts for path in part.reads)
    )


def denies(command: str, form: str) -> bool:
    """Whether a rule for exactly this text would find a part of the command."""
    return any(form in part.deny_forms for part in read(command).parts)
