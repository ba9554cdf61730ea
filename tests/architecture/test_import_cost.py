import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from bridle.cli.lazy_modules import LAZY
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.fakes.terminal import PtyProgram
from tests.frontends.tui.app.session import QUIET, READY

_FORBIDDEN = (
    "pydantic", "httpx", "httpx2", "anyio", "email", "importlib.metadata", "argparse", "http.client",
    "urllib.request", "json", "tempfile", "shutil", "difflib", "yaml", "PIL", "pypdf", "bs4", "markdownify",
    "tree_sitter", "prompt_toolkit", "rich", "bridle.features.advisor.choice",
    "bridle.features.advisor.advice", "bridle.providers.advisors", "bridle.config.settings_table",
    "bridle.config.variables_table",
)  # fmt: skip
_ENCRYPTED = (*LAZY, "dis", "tokenize")
"""What an encrypted connection needs, and what is only imported by others."""
_ENVIRONMENT = {
    "__main__", "__mp_main__", "_distutils_hack", "sitecustomize", "usercustomize", "_virtualenv",
}  # fmt: skip
_OURS = ("bridle", "msgspec", "h11", "typing_extensions")

_LOADED = """
import sys
def loaded():
    return sorted(name for name, module in sys.modules.items() if not is_empty(module))
def is_empty(module):
    return type(vars(module).get("__getattr__")).__module__ == "bridle.cli.lazy_modules"
"""
"""Modules without those that are only there by name."""

_PROBE = f"""{_LOADED}
seen = None
def watch(event, args):
    global seen
    if event == "socket.connect" and seen is None:
        seen = loaded()
sys.addaudithook(watch)
sys.argv = ["bridle", "-p", "hi"]
from bridle.__main__ import main
code = main()
print("\\n".join(seen or ["nothing was sent"]), file=sys.stderr)
sys.exit(code)
"""


async def test_way_to_the_first_request_imports_little(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = subprocess.Popen(
            [sys.executable, "-c", _PROBE], cwd=program.project, env=program.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        out, err = await asyncio.to_thread(done.communicate, timeout=100)
    loaded = err.split()
    assert (done.returncode, out) == (0, "ok\n")
    assert not [name for name in loaded if name in (*_FORBIDDEN, *_ENCRYPTED)]
    foreign = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) - set(_OURS)
    assert foreign <= _ENVIRONMENT
    assert not [name for name in loaded if name.startswith("bridle.tools.") and name not in _INDEX]


_INDEX = (
    "bridle.tools.catalog", "bridle.tools.deferred", "bridle.tools.deferred_toolbox",
    "bridle.tools.definitions", "bridle.tools.toolbox",
)  # fmt: skip
"""What lists tools and holds none."""

_AT_THE_TERMINAL = f"""{_LOADED}
import os, signal
folder = sys.argv.pop()
def note(name):
    with open(folder + "/part", "w", encoding="utf-8") as file:
        file.write("\\n".join(loaded()))
    os.replace(folder + "/part", folder + "/" + name)
def watch(event, args):
    if event == "import" and args[0] == "bridle.cli.bytecode":
        note("typable")
sys.addaudithook(watch)
signal.signal(signal.SIGUSR1, lambda number, frame: note("ready"))
from bridle.__main__ import main
sys.exit(main())
"""
_ONLY_FOR_TURNS = (
    "bridle.context.memory", "bridle.engine.compaction.compact", "bridle.engine.calls.dispatch",
    "bridle.engine.permissions.gate", "bridle.features.side_work.queue", "bridle.features.memory.documents",
    "bridle.features.plan_mode.planning",
    "bridle.features.memory.extraction", "bridle.features.side_work.suggestions",
    "bridle.features.side_work.run_ahead", "bridle.features.side_work.titles", "bridle.engine.side_agent",
    "bridle.features.recall.index", "bridle.features.recall.recall_tool", "bridle.features.quality.signals",
    "bridle.frontends.tui.dialogs",
    "bridle.frontends.tui.editing.external_editor", "bridle.frontends.tui.editing.vim",
    "bridle.frontends.tui.screens.catalog", "bridle.frontends.tui.screens.conversation",
    "bridle.frontends.tui.screens.session_picker", "bridle.frontends.tui.widgets",
    "bridle.mcp", "bridle.permissions.policy", "bridle.permissions.shell", "bridle.transcripts.listing",
    "ipaddress", "markdown_it", "pygments", "shlex", "wcwidth",
)  # fmt: skip


async def test_prompt_at_the_terminal_is_typed_into_before_almost_anything_is_imported(tmp_path: Path):
    loaded = await _loaded_at_the_terminal(tmp_path)
    ours = {name for name in loaded["typable"] if name.startswith("bridle")}
    assert ours == {
        "bridle", "bridle.__main__", "bridle.frontends", "bridle.frontends.tui",
        "bridle.frontends.tui.first_frame", "bridle.frontends.tui.raw_mode",
    }  # fmt: skip
    assert not [
        name for name in ("asyncio", "msgspec", "re", "typing", "threading") if name in loaded["typable"]
    ]


async def test_session_at_the_terminal_is_ready_before_what_only_turns_need_is_imported(tmp_path: Path):
    loaded = (await _loaded_at_the_terminal(tmp_path))["ready"]
    assert "bridle.frontends.tui.chat.chat" in loaded
    assert not [name for name in loaded if name in _FORBIDDEN]
    assert not [name for name in loaded if _is_one_of(name, _ONLY_FOR_TURNS)]
    foreign = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) - set(_OURS)
    assert foreign <= _ENVIRONMENT


def _is_one_of(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


async def _loaded_at_the_terminal(folder: Path) -> dict[str, list[str]]:
    """The modules when the first key can be typed, and when the session is ready."""
    program = Program(folder, "http://127.0.0.1:9", **QUIET)
    program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
    argv = [sys.executable, "-c", _AT_THE_TERMINAL, str(folder)]
    async with PtyProgram(argv, env=program.env, cwd=program.project) as terminal:
        await terminal.until_text(READY)
        os.kill(terminal.process.pid, signal.SIGUSR1)
        await eventually((folder / "ready").exists)
    return {name: (folder / name).read_text().split() for name in ("typable", "ready")}


_UNTIL_AN_AGENT_IS_EXPECTED = """
import sys
mark = sys.argv.pop()
def watch(event, args):
    if event == "import" and args[0] == "bridle.features.agents.run":
        open(mark, "w").close()
sys.addaudithook(watch)
from bridle.__main__ import main
sys.exit(main())
"""


async def test_what_an_agent_needs_is_imported_while_the_model_still_writes_its_task(tmp_path: Path):
    mark = tmp_path / "mark"
    task = {"description": "look", "prompt": "look around " * 5_000, "subagent_type": "general-purpose"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Agent", "input": task}
    async with MessagesServer([step(call, silent_after=8_000)]) as server:
        program = Program(tmp_path, server.url, **QUIET)
        argv = [sys.executable, "-c", _UNTIL_AN_AGENT_IS_EXPECTED, "-p", "go", str(mark)]
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=program.project, env=program.env, stdin=subprocess.DEVNULL
        )
        try:
            await eventually(mark.exists)
        finally:
            process.kill()
            await process.wait()
