import subprocess
import sys
from pathlib import Path

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_FORBIDDEN = (
    "pydantic", "httpx", "httpx2", "anyio", "email", "importlib.metadata", "argparse", "http.client",
    "urllib.request", "json", "tempfile", "shutil", "difflib", "yaml", "PIL", "pypdf", "bs4", "markdownify",
    "tree_sitter", "prompt_toolkit", "rich",
)  # fmt: skip
_OURS = ("bridle", "msgspec", "h11", "typing_extensions")

_PROBE = """
import asyncio, sys
seen = None
def watch(event, args):
    global seen
    if event == "socket.connect" and seen is None:
        seen = sorted(sys.modules)
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
        import asyncio

        out, err = await asyncio.to_thread(done.communicate, timeout=30)
    loaded = err.split()
    assert (done.returncode, out) == (0, "ok\n")
    assert not [name for name in loaded if name in _FORBIDDEN]
    foreign = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) - set(_OURS)
    assert foreign <= {
        "__main__",
        "__mp_main__",
        "_distutils_hack",
        "sitecustomize",
        "usercustomize",
        "_virtualenv",
    }
    assert not [name for name in loaded if name.startswith("bridle.tools.") and name not in _INDEX]


_INDEX = ("bridle.tools.catalog", "bridle.tools.definitions", "bridle.tools.toolbox")
