"""S2, S50: what rules deny cannot be had inside by any route, behind walls of every kind."""

import os
import re
import shutil
import stat
from pathlib import Path

import pytest

from bridle.host.sandbox.denials import expressions
from bridle.host.sandbox.policy import Network
from bridle.host.sandbox.proxy import CommandAccess, Gate
from bridle.types.errors import ToolError
from bridle.types.question import Answer, NetworkQuestion
from bridle.types.sandbox import Denials, Pattern
from tests.fakes.confined import FakePlace
from tests.tables import table

_READS = [
    "cat open/.env",
    "cat open/a/b/.env",
    "cp open/.env open/copy; cat open/copy",
    "ln open/.env open/twin; cat open/twin",
    "ln -s .env open/way; cat open/way",
    "mv open/.env open/x; cat open/x",
    "mv open/a open/c; cat open/c/b/.env",
    "cat < open/.env",
    "python3 -c 'print(open(\"open/.env\").read())'",
    "tar cf - open | tar xOf - open/.env",
    "cd open && cat .env",
    "cat /proc/self/cwd/open/.env",
    "cat /proc/self/root$PWD/open/.env",
    "grep -r s3cret open",
    "cat open/keys/deep/x.pem",
    "ls open/keys/deep",
    "chmod 777 open/.env; cat open/.env",
    "cat open/linked",
]
_PATTERN = "**"


async def test_denied_files_cannot_be_read_by_any_route(any_place: FakePlace):
    _fill(any_place)
    any_place.denials = Denials(
        unreadable=((str(any_place.project), (_PATTERN, ".env")), (str(any_place.project), ("open", "keys")))
    )
    said = await any_place.bash("\n".join(f"({line}) 2>&1" for line in _READS))
    assert "s3cret" not in said.output, said.output
    if any_place.way != "landlock":
        # Landlock alone hides what is in files and not their names.
        assert "x.pem" not in said.output.replace("open/keys/deep/x.pem", "")
    assert (await any_place.bash("cat open/plain")).output == "plain\n"
    await any_place.close()
    assert (any_place.project / "open/.env").read_text() == "s3cret\n"
    assert (any_place.project / "open/a/b/.env").read_text() == "s3cret\n"


def _fill(place: FakePlace) -> None:
    (place.project / "open/a/b").mkdir(parents=True)
    (place.project / "open/keys/deep").mkdir(parents=True)
    for name in ("open/.env", "open/a/b/.env", "open/keys/deep/x.pem"):
        (place.project / name).write_text("s3cret\n")
    (place.project / "open/plain").write_text("plain\n")
    (place.project / "open/linked").symlink_to("a/b/.env")
    place.give(place.project)


_WRITES = [
    "echo x > open/new.lock",
    "echo x >> open/old.lock",
    "rm open/old.lock",
    "mv open/old.lock open/x",
    "mv open/plain open/old.lock",
    "cp open/plain open/a/b/c.lock",
    "touch open/t.lock",
    "ln open/plain open/l.lock",
    "ln -s plain open/s.lock",
    "mkdir open/d.lock",
    "truncate -s 0 open/old.lock",
    "sed -i s/k/x/ open/old.lock",
    "chmod 600 open/old.lock",
    'python3 -c \'open("open/py.lock", "w")\'',
    "ln open/old.lock open/h && echo x > open/h",
    "ln -s old.lock open/w && echo x > open/w",
    "echo x > open/fixed/file",
    "mkdir open/made && echo x > open/made/file && mv open/made open/fixed",
    "mkdir -p open/m/fixed2",
    "mkdir -p open/m/n && echo x > open/m/n/kept && mv open/m open/fixed3",
    "echo x > open/.env",
]


async def test_denied_files_are_not_made_or_changed_by_any_route(any_place: FakePlace):
    _fill(any_place)
    project = any_place.project
    (project / "open/.env").unlink()
    (project / "open/old.lock").write_text("kept")
    (project / "open/old.lock").chmod(0o644)
    any_place.give(project)
    any_place.denials = Denials(
        unwritable=(
            (str(project), (_PATTERN, "*.lock")),
            (str(project), ("open", "fixed")),
            (str(project), ("open", _PATTERN, "fixed2")),
            (str(project), ("open", "fixed3", "n", "kept")),
        ),
        unreadable=((str(project), (_PATTERN, ".env")),),
    )
    await any_place.bash("\n".join(f"({line}) 2>/dev/null" for line in _WRITES))
    await any_place.close()
    assert (project / "open/old.lock").read_text() == "kept"
    assert stat.S_IMODE((project / "open/old.lock").stat().st_mode) == 0o644
    assert (project / "open/old.lock").stat().st_nlink == 1
    made = [str(path.relative_to(project)) for path in project.rglob("*")]
    assert sorted(name for name in made if name.endswith(".lock")) == ["open/old.lock"]
    assert not [name for name in made if "fixed" in name or name == "open/.env"]


async def test_everything_else_is_written_as_ever_under_denials(any_place: FakePlace):
    _fill(any_place)
    any_place.denials = Denials(unwritable=((str(any_place.project), (_PATTERN, "*.lock")),))
    said = await any_place.bash(
        "cd open; echo x > new && mkdir -p m/n && echo y > m/n/z && mv m o && cat o/n/z && rm -r o && ls new"
    )
    assert said.output == "y\nnew\n"


_RUNS = [
    "{0}",
    "{1}",
    "command {0}",
    "env {0}",
    "exec {1}",
    "bash -c {0}",
    "ln -s {1} open/link; open/link",
    "ln {1} open/hard; open/hard",
    "cp {1} open/copy; open/copy",
    "{1}.twin",
    "$(dirname {1})/../bin/{0}",
    "/proc/self/root{1}",
    'python3 -c \'import os; os.execv("{1}", ["x"])\'',
    "exec 5< {1}; /proc/self/fd/5",
    "xargs {0} < /dev/null",
    "echo '#!{1}' > open/s; chmod +x open/s; open/s",
]


async def test_denied_programs_cannot_be_executed_by_any_route(any_place: FakePlace):
    folder = any_place.base / "bin"
    folder.mkdir()
    tool = _program(folder / "denied-tool")
    os.link(tool, folder / "denied-tool.twin")
    loader = next(iter(sorted(Path("/lib64").glob("ld-linux*"))), None)
    any_place.give(folder)
    env = {"PATH": f"{folder}:/usr/bin:/bin"}
    lines = [line.format("denied-tool", tool) for line in _RUNS]
    lines += [f"{loader} {tool}", f"{loader} {folder}/../bin/denied-tool"] if loader else []
    script = "\n".join(f"({line}) 2>&1" for line in lines)
    for name in ("denied-tool", "denied-t*", str(tool)):
        any_place.denials = Denials(programs=(name,))
        said = await any_place.run("/bin/bash", "-c", script, env=env)
        assert "IT RAN" not in said.output, (name, said.output)
    any_place.denials = Denials(programs=("other-tool",))
    assert "IT RAN" in (await any_place.run("/bin/bash", "-c", "denied-tool IT RAN", env=env)).output


def _program(path: Path) -> Path:
    """A real program that says what it is given."""
    echo = shutil.which("echo")
    assert echo is not None
    shutil.copy(os.path.realpath(echo), path)
    return path


@pytest.mark.parametrize("program", ["python3", "python*", "bash", "sh"])
async def test_a_denied_shell_or_python_does_not_stop_everything(any_place: FakePlace, program: str):
    any_place.denials = Denials(programs=(program,))
    said = await any_place.bash("echo works; python3 --version")
    assert said.output.startswith("works\n"), said.output
    assert ("Python 3" in said.output) == (not program.startswith("python"))


async def test_rules_count_from_the_next_command_on(any_place: FakePlace):
    _fill(any_place)
    assert "s3cret" in (await any_place.bash("cat open/.env")).output
    any_place.denials = Denials(unreadable=((str(any_place.project), (_PATTERN, ".env")),))
    assert "s3cret" not in (await any_place.bash("cat open/.env")).output
    any_place.denials = Denials()
    assert "s3cret" in (await any_place.bash("cat open/.env")).output


async def test_more_files_than_can_be_hidden_stop_the_command(any_place: FakePlace):
    folder = any_place.project / "open"
    for number in range(1_001):
        (folder / f"{number}.log").touch()
    any_place.denials = Denials(unreadable=((str(any_place.project), (_PATTERN, "*.log")),))
    with pytest.raises(ToolError, match=r"1,000 files"):
        await any_place.bash("true")


async def test_older_kernels_hold_denied_files_that_exist(any_place: FakePlace):
    any_place.oversees = False
    _fill(any_place)
    any_place.denials = Denials(unwritable=((str(any_place.project), (_PATTERN, "plain")),))
    await any_place.bash("echo x > open/plain; rm open/plain; mv open/plain open/x")
    await any_place.close()
    assert (any_place.project / "open/plain").read_text() == "plain\n"


@table(
    ("pattern", "path", "matches"),
    [
        (("/w", ("**", ".env")), "/w/.env", True),
        (("/w", ("**", ".env")), "/w/a/b/.env", True),
        (("/w", ("**", ".env")), "/w/a/.env/x", True),
        (("/w", ("**", ".env")), "/w/a/.envy", False),
        (("/w", ("**", ".env")), "/v/.env", False),
        (("/w", ("a*", "b")), "/w/aa/b", True),
        (("/w", ("a*", "b")), "/w/a/c/b", False),
        (("/w", ("[!a]x",)), "/w/bx", True),
        (("/w", ("[!a]x",)), "/w/ax", False),
        (("/w", ("[*]",)), "/w/*", True),
        (("/w", ("[*]",)), "/w/z", False),
        (("/w", ("[]]",)), "/w/]", True),
        (("/w", ("[^a]",)), "/w/^", True),
        (("/w", ("a[",)), "/w/a[", True),
        (("/w", ("[\\d]",)), "/w/5", False),
        (("/w", ("?",)), "/w/é", True),
        (("/", ("etc", "**")), "/etc/x", True),
        (("/w.x", ("a",)), "/wyx/a", False),
        (("/w", ("a\nb",)), "/w/a\nb", True),
    ],
)
def test_patterns_mean_the_same_inside(pattern: Pattern, path: str, matches: bool):
    found = any(re.compile(each, re.DOTALL).fullmatch(path) for each in expressions((pattern,)))
    assert found is matches


async def test_denied_hosts_are_refused_although_the_settings_allow_them():
    async def ask(question: NetworkQuestion) -> Answer:
        raise AssertionError(question)

    gate = Gate(Network(mode="proxy", allowed=("allowed.test", "*.example.test")), ask)
    gate.deny(("allowed.test", "*.example.test"))
    for host in ("allowed.test", "ALLOWED.test.", "a.example.test"):
        assert await gate.connect(host, 443, visit=CommandAccess()) is None
    assert gate.take_refusals() == ("allowed.test:443", "a.example.test:443")
