import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).parents[2] / "src"

_PROBE = """
import importlib, os, signal, sys, threading
before = (dict(os.environ), os.getcwd(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGPIPE))
opened = []
sys.addaudithook(lambda event, args: opened.append(args) if event == "open" and writes(args) else None)
started = []
watched = ("subprocess.Popen", "socket.connect", "os.system", "os.exec")
sys.addaudithook(lambda event, args: started.append(event) if event in watched else None)
def writes(args):
    mode, flags = args[1], args[2]
    return isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
for name in sys.argv[1:]:
    importlib.import_module(name)
after = (dict(os.environ), os.getcwd(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGPIPE))
assert before == after, "the process was changed"
assert not opened, f"files were opened for writing: {opened}"
assert not started, f"started: {started}"
assert threading.active_count() == 1, "a thread was started"
"""


def test_importing_any_module_has_no_effect():
    modules = [
        ".".join(path.relative_to(_SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(_SOURCE.rglob("*.py"))
    ]
    done = subprocess.run(
        [sys.executable, "-B", "-c", _PROBE, *modules],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
