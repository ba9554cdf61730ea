import subprocess
import sys
from pathlib import Path

_BEGIN = """
import sys, threading
from bridle.cli.lazy_modules import LazyModules
sys.path.insert(0, sys.argv[1])
sys.meta_path.insert(0, LazyModules(("slow", "broken", "ssl")))
"""


def _run(folder: Path, code: str) -> list[str]:
    argv = [sys.executable, "-c", _BEGIN + code, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    assert done.stderr == ""
    return done.stdout.split()


def test_module_is_loaded_once_by_whoever_uses_it_first_while_others_wait(tmp_path: Path):
    (tmp_path / "slow.py").write_text(
        "import threading\nprint('loaded')\nbegun.set()\nmay_end.wait()\nvalue = 'whole'\n"
    )
    code = """
import slow
import builtins
seen = []
print("imported")
builtins.begun, builtins.may_end = threading.Event(), threading.Event()
users = [threading.Thread(target=lambda: seen.append(slow.value)) for _ in range(3)]
users[0].start()
begun.wait()
for user in users[1:]:
    user.start()
may_end.set()
for user in users:
    user.join()
print(*seen)
print(hasattr(slow, "missing"), hasattr(slow, "__getattr__"), sys.modules["slow"] is slow, slow.__file__[-7:])
"""
    assert _run(tmp_path, code) == [
        "imported", "loaded", "whole", "whole", "whole", "False", "False", "True", "slow.py",
    ]  # fmt: skip


def test_module_that_cannot_be_loaded_says_why_at_every_use(tmp_path: Path):
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    code = """
import broken
for _ in range(2):
    try:
        broken.value
    except ImportError as error:
        print(error.name)
"""
    assert _run(tmp_path, code) == ["no_such_module", "no_such_module"]


def test_nothing_is_an_instance_of_a_class_whose_module_is_not_loaded(tmp_path: Path):
    code = """
import ssl, socket
EncryptedSocket = ssl.SSLSocket
plain, other = socket.socketpair()
print(isinstance(plain, EncryptedSocket), "SSLContext" in vars(ssl))
class Own(EncryptedSocket): pass
print("SSLContext" in vars(ssl), Own.__mro__[1] is ssl.SSLSocket, isinstance(plain, EncryptedSocket))
context = ssl.create_default_context()
encrypted = context.wrap_socket(plain, do_handshake_on_connect=False, server_hostname="name")
print(isinstance(encrypted, EncryptedSocket), EncryptedSocket.send is ssl.SSLSocket.send)
encrypted.close(), other.close()
"""
    assert _run(tmp_path, code) == ["False", "False", "True", "True", "False", "True", "True"]


def test_what_uuid_asks_the_platform_is_answered_as_the_platform_does(tmp_path: Path):
    code = """
del sys.meta_path[0]
sys.meta_path.insert(0, LazyModules(("platform",)))
import platform
asked = platform.system()
print("uname" in vars(platform), platform.node() != None, platform.system() == asked)
"""
    assert _run(tmp_path, code) == ["False", "True", "True"]


def test_answers_without_loading_are_those_of_the_modules(tmp_path: Path):
    code = """
del sys.meta_path[0]
for name in ("datetime", "logging", "subprocess"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, LazyModules(("datetime", "logging", "subprocess")))
import datetime, logging, subprocess
early = (datetime.datetime, logging.DEBUG, subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL)
logger = logging.getLogger("early")
logger.debug("unheard")
print("Popen" in vars(subprocess), "Logger" in vars(logging), "timedelta" in vars(datetime))
subprocess.Popen, datetime.timedelta
logging.basicConfig(stream=sys.stdout, format="%(name)s:%(message)s", level=logging.DEBUG)
now = (datetime.datetime, logging.DEBUG, subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL)
logger.debug("heard")
print(early == now, logger.name)
"""
    assert _run(tmp_path, code) == ["False", "False", "False", "early:heard", "True", "early"]
