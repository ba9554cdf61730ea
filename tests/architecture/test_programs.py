"""S43: programs for our own work are started by absolute paths from the one finder."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[2] / "src" / "bridle"
_MODULES = sorted(_SOURCE.rglob("*.py"))
_STARTERS = frozenset({
    "create_subprocess_exec", "Popen", "run", "call", "check_call", "check_output", "start", "launch",
    "posix_spawn", "execv", "execve",
})  # fmt: skip
_BY_NAME = frozenset({
    "create_subprocess_shell", "posix_spawnp", "execvp", "execvpe", "execlp", "execlpe", "spawnlp",
    "spawnlpe", "spawnvp", "spawnvpe", "popen", "getoutput", "getstatusoutput", "which", "get_exec_path",
})  # fmt: skip
"""Functions that look a program up themselves, or have a shell do so."""
_OWN_BUSINESS = {
    # Tells whether the first word of a hook exists; it starts nothing.
    ("cli/hooks/lint.py", "which"),
    # The last step inside the sandbox, where the words are those of the command that is confined.
    ("host/sandbox/inside/launch.py", "execvp"),
}
_START_PROGRAMS = frozenset({
    "cli/bytecode.py", "cli/plugin/author.py", "cli/terminal/tmux.py", "commands/facts/advisories.py",
    "extensions/plugins/fetching.py",
    "extensions/plugins/repositories.py", "frontends/remote/child.py", "frontends/tui/external_editor.py",
    "frontends/tui/guard.py", "frontends/tui/pictures.py", "frontends/tui/questioner.py",
    "frontends/tui/row_command.py", "frontends/tui/showing.py", "hooks/program.py", "host/browser.py",
    "host/git.py", "host/git_runs.py", "host/jobs/program.py", "host/jobs/starting.py",
    "host/kernel_features.py", "host/lsp/connection.py", "host/process.py", "host/reaper.py",
    "host/sandbox/inside/launch.py", "host/sandbox/linux.py", "host/scripts/child.py", "host/wall/probe.py",
    "mcp/stdio.py",
})  # fmt: skip
"""Every module that starts processes; one that is new here uses host/programs.py for programs of ours."""


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                if function.value.id in ("os", "subprocess", "asyncio", "shutil", "process", "host_process"):
                    yield function.attr, node
            elif isinstance(function, ast.Name):
                yield function.id, node


def _first_word(call: ast.Call) -> str | None:
    """The program that a call names in so many letters."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.List | ast.Tuple) and first.elts:
        first = first.elts[0]
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: str(path.relative_to(_SOURCE)))
def test_no_program_is_looked_up_elsewhere(path: Path):
    module = str(path.relative_to(_SOURCE))
    for name, call in _calls(path):
        assert name not in _BY_NAME or (module, name) in _OWN_BUSINESS, f"{module}:{call.lineno}: {name}"
        if name in _STARTERS and (word := _first_word(call)) is not None and _starts_processes(path):
            assert word.startswith("/"), f"{module}:{call.lineno}: {word!r} is started by its bare name"
        assert not any(
            each.arg == "shell" and isinstance(each.value, ast.Constant) and each.value.value is True
            for each in call.keywords
        ), f"{module}:{call.lineno}: shell=True"


def test_who_starts_programs_is_known():
    found = {str(path.relative_to(_SOURCE)) for path in _MODULES if _starts_processes(path)}
    assert found == _START_PROGRAMS


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: str(path.relative_to(_SOURCE)))
def test_our_own_python_never_imports_from_the_current_folder(path: Path):
    """`python -m` puts the current folder before all others unless it is told not to."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.List | ast.Tuple):
            continue
        words = [each.value if isinstance(each, ast.Constant) else ast.unparse(each) for each in node.elts]
        if "sys.executable" in words and ("-m" in words or "-c" in words):
            assert {"-P", "-I", "*flags"} & set(words), f"{path}:{node.lineno}"


def _starts_processes(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    marks = ("create_subprocess_exec(", "subprocess.Popen(", "subprocess.run", "posix_spawn(", "os.exec")
    return any(mark in text for mark in marks)
