"""S43: programs for our own work are started by absolute paths from the one finder."""

import ast
from collections.abc import Iterator

from tests.architecture.modules import modules, nodes

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
    ("commands/queries/hook_problems.py", "which"),
    # The last step inside the sandbox, where the words are those of the command that is confined.
    ("host/sandbox/inside/launch.py", "execvp"),
}
_START_PROGRAMS = frozenset({
    "cli/bytecode.py", "cli/main.py", "cli/plugin/author.py", "cli/terminal/links.py",
    "cli/terminal/session.py",
    "cli/terminal/tmux.py",
    "cli/verbs/help_page.py", "cli/verbs/update.py", "commands/queries/advisories.py",
    "config/policy_helper.py", "extensions/plugins/downloads.py",
    "extensions/plugins/repositories.py", "features/telemetry/headers_helper.py",
    "features/voice/engines.py", "features/voice/microphone.py",
    "frontends/fleet/local.py", "frontends/remote/child_session.py",
    "frontends/tui/chat/dialog_queue.py", "frontends/tui/chat/row_command.py",
    "frontends/tui/editing/external_editor.py", "frontends/tui/editing/images.py",
    "frontends/tui/editing/spelling.py", "frontends/tui/screens/controller.py",
    "frontends/tui/terminal/clipboard.py", "frontends/tui/terminal/watchdog.py",
    "hooks/program.py", "host/browser.py",
    "host/git/repository.py", "host/git/commands.py", "host/jobs/program.py", "host/jobs/launcher.py",
    "host/kernel_features.py", "host/lsp/connection.py", "host/process.py", "host/reaper.py",
    "host/sandbox/inside/launch.py", "host/sandbox/linux.py", "host/scripts/child.py",
    "host/trees/listing.py", "host/wall/probe.py",
    "mcp/transports/stdio.py",
})  # fmt: skip
"""Every module that starts processes; one that is new here uses host/programs.py for programs of ours."""


def test_no_program_is_looked_up_elsewhere():
    assert [wrong for module in modules() for wrong in _lookups(module)] == []


def test_who_starts_programs_is_known():
    assert {module for module in modules() if _starts_processes(module)} == _START_PROGRAMS


def test_our_own_python_never_imports_from_the_current_folder():
    """`python -m` puts the current folder before all others unless it is told not to."""
    assert [wrong for module in modules() for wrong in _unsafe_starts(module)] == []


def _lookups(module: str) -> Iterator[str]:
    for name, call in _calls(module):
        place = f"{module}:{call.lineno}"
        if name in _BY_NAME and (module, name) not in _OWN_BUSINESS:
            yield f"{place}: {name}"
        word = _first_word(call) if name in _STARTERS and _starts_processes(module) else None
        if word is not None and not word.startswith("/"):
            yield f"{place}: {word!r} is started by its bare name"
        for each in call.keywords:
            if each.arg == "shell" and isinstance(each.value, ast.Constant) and each.value.value is True:
                yield f"{place}: shell=True"


def _unsafe_starts(module: str) -> Iterator[str]:
    if "sys.executable" not in modules()[module]:
        return
    for node in nodes(module):
        if not isinstance(node, ast.List | ast.Tuple):
            continue
        words = [each.value if isinstance(each, ast.Constant) else ast.unparse(each) for each in node.elts]
        runs_python = "sys.executable" in words and ("-m" in words or "-c" in words)
        if runs_python and not {"-P", "-I", "*flags"} & set(words):
            yield f"{module}:{node.lineno}"


def _calls(module: str) -> Iterator[tuple[str, ast.Call]]:
    for node in nodes(module):
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


def _starts_processes(module: str) -> bool:
    marks = ("create_subprocess_exec(", "subprocess.Popen(", "subprocess.run", "posix_spawn(", "os.exec")
    return any(mark in modules()[module] for mark in marks)
