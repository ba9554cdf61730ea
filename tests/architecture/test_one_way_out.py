"""S61: all text reaches standard output and standard error through `host/stdio.py`, so a new verb is safe."""

import ast
from collections.abc import Iterable, Iterator

import pytest

from tests.architecture.modules import modules, nodes
from tests.tables import table

_THE_WAY = "host/stdio.py"
_STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
_PRINTERS = {"print", "input", "getpass"}
_ELSEWHERE = {
    "host/ripgrep_fallback.py": "a program of its own, whose output bridle reads",
    "host/scripts/inside/child.py": "a program of its own, whose output bridle reads",
    "host/sandbox/inside/launch.py": "runs in the sandbox, where standard error is the command's",
    "host/sandbox/inside/devices.py": "opens a terminal for a confined command, with its rights",
    "host/jobs/holder.py": "one fixed sentence, before anything is imported",
    "host/jobs/program.py": "a child that could not become the program says why on the terminal of its job",
    "cli/background/attached_terminal.py": "the program of a job owns the terminal, as in a multiplexer",
    "features/voice/worker.py": "a program of its own, whose output bridle reads",
    "cli/bundle/installer.py": "a program of its own, which runs where bridle is not installed yet",
    "extensions/packages.py": "what a package prints is sent to standard error, which is guarded",
}
"""Modules that touch the standard streams themselves, and why that is safe."""


def test_no_other_module_writes_to_the_standard_streams():
    others = modules().keys() - _ELSEWHERE.keys() - {_THE_WAY}
    assert [f"{name}: {way}" for name in others for way in _ways_out(nodes(name))] == []


@pytest.mark.parametrize("name", sorted(_ELSEWHERE))
def test_every_exception_is_still_one(name: str):
    assert list(_ways_out(nodes(name)))


@table(
    "code",
    [
        "print('x')", "sys.stdout.write('x')", "sys.stderr.buffer.write(b'x')", "from sys import stdout",
        "os.write(1, b'x')", "os.write(STDERR, b'x')", "open('/dev/tty', 'w')", "os.fdopen(2, 'w')",
        "open(1, 'w')", "input('name? ')", "getpass.getpass('key? ')", "getattr(sys, 'stdout')",
        "out = sys.__stderr__", "os.open('/dev/stderr', 1)", "os.dup(2)", "os.writev(1, [b'x'])",
    ],
)  # fmt: skip
def test_each_way_out_is_noticed(code: str):
    assert list(_ways_out(ast.walk(ast.parse(code))))


def _ways_out(tree: Iterable[ast.AST]) -> Iterator[str]:
    for node in tree:
        match node:
            case ast.Attribute(value=ast.Name("sys"), attr=attr) if attr in _STREAMS:
                yield ast.unparse(node)
            case ast.ImportFrom(module="sys", names=names) if {each.name for each in names} & _STREAMS:
                yield ast.unparse(node)
            case ast.Call(func=ast.Name(name)) if name in _PRINTERS:
                yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(value=ast.Name("getpass"))):
                yield ast.unparse(node)
            case ast.Call(func=ast.Name("getattr"), args=[ast.Name("sys"), *_]):
                yield ast.unparse(node)
            case ast.Call(func=function, args=[first, *_]) if _opens(function) and _is_standard(first):
                yield ast.unparse(node)
            case _:
                pass


def _opens(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(value=ast.Name("os"), attr="write" | "writev" | "fdopen" | "open" | "dup"):
            return True
        case ast.Name("open") | ast.Attribute(value=ast.Name("io"), attr="open"):
            return True
        case _:
            return False


def _is_standard(descriptor: ast.expr) -> bool:
    match descriptor:
        case ast.Constant(1 | 2 | "/dev/tty" | "/dev/stdout" | "/dev/stderr" | "/dev/fd/1" | "/dev/fd/2"):
            return True
        case ast.Name(name):
            return name.strip("_").upper() in ("STDOUT", "STDERR")
        case _:
            return False
