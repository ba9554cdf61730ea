"""S33, S50: protected names that do not exist yet are not made, however deep and by whatever call."""

import os
import stat

import pytest

from bridle.host.sandbox.linux import SandboxSupport, find_support
from bridle.host.sandbox.policy import Policy
from bridle.host.sandbox.private_dir import close_private_dir, open_private_dir
from tests.fakes.confined import FakePlace, Said

_CALLS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except OSError as error:
        print(name, os.strerror(error.errno))
    else:
        print(name, "done")
"""
_BUSY = """
import os, sys, time
end = time.monotonic() + 1
def make(name):
    while time.monotonic() < end:
        found = os.open(name, os.O_CREAT | os.O_WRONLY)
        assert os.path.samestat(os.fstat(found), os.stat(name)), found
        os.close(found)
    print("made", flush=True)
def leave():
    while time.monotonic() < end:
        if os.fork() == 0:
            for _ in range(8):
                os.fork() or os._exit(0)
            os._exit(0)
        os.wait()
for work in (*(lambda n=n: make(n) for n in "abc"), leave, leave):
    if os.fork() == 0:
        work()
        os._exit(0)
for _ in range(5):
    os.wait()
"""


@pytest.mark.parametrize(
    "script",
    [
        "mkdir a/b/.git",
        "mkdir -p a/b/c/d/e/f/.git/hooks",
        "mkdir a/.Claude",
        "echo x > a/b/.mcp.json",
        "echo x > a/b/.BASHRC",
        "mv a/plain a/b/.mcp.json",
        "mv a/b a/.git",
        "ln a/plain a/.npmrc",
        "ln -s plain a/.envrc",
        "ln -s /etc a/.vscode",
        "cp -r a/b a/.husky",
        "mkfifo a/.gitmodules",
        "touch a/b/.yarnrc.yml",
        "ln -s b/.mcp.json a/way && echo x > a/way",
        "ln -s b a/way && echo x > a/way/.mcp.json",
        "cd a/b && echo x > .mcp.json",
        "cd a/b && echo x > ../.mcp.json",
        "mkdir -p a/.config && mkdir a/.config/git",
        "mkdir -p a/cfg/git && mv a/cfg a/.config",
        "mkdir -p a/cfg/git && ln -s cfg a/.config",
        "mkdir -p node_modules/x/.git && mv node_modules/x a/x && ls a/x/.git",
        'mkdir -p "$TMPDIR/x/.git" && mv "$TMPDIR/x" a/x',
        "echo x > a/pyrightconfig.json",
        "echo x > /proc/self/cwd/a/.mcp.json",
        "cp /etc/hostname a/.mcp.json",
        "tar cf - a/plain --transform s,plain,.mcp.json, | tar xf -",
        "echo x > d/e/e/p/e/r/.git/config",
        'python3 -c \'open("d/e/e/p/e/r/.git/config", "r+").write("x")\'',
        "exec 3< d/e/e/p/e/r/.git/config && echo x > /proc/self/fd/3",
        "ln d/e/e/p/e/r/.git/config twin",
        "truncate -s 0 d/e/e/p/e/r/.git/config",
        "mv d/e/e/p/e/r/.git gone",
    ],
)
async def test_protected_names_are_not_made_at_any_depth(place: FakePlace, script: str):
    _fill(place)
    await place.bash(script)
    await place.close()
    made = [
        os.path.join(folder, name)
        for folder, folders, files in os.walk(place.project)
        for name in (*folders, *files)
        if "node_modules" not in folder and "/d/e/" not in folder
        if name.casefold() in {".git", ".claude", ".mcp.json", ".bashrc", ".npmrc", ".envrc", ".vscode"}
        or name in {".husky", ".gitmodules", ".yarnrc.yml", "pyrightconfig.json", "twin", "gone"}
        or os.path.exists(os.path.join(folder, ".config/git"))
    ]
    assert made == []
    assert (place.project / "d/e/e/p/e/r/.git/config").read_text() == "kept"


def _fill(place: FakePlace) -> None:
    (place.project / "a/b").mkdir(parents=True)
    (place.project / "d/e/e/p/e/r/.git").mkdir(parents=True)
    (place.project / "d/e/e/p/e/r/.git/config").write_text("kept")
    (place.project / "a/plain").write_text("plain")
    place.give(place.project)


async def test_landlock_alone_holds_them_too(narrow: FakePlace):
    (narrow.project / "a/b").mkdir(parents=True)
    narrow.give(narrow.project)
    said = await narrow.bash(
        "echo x > a/b/new && mkdir a/folder && ! mkdir a/b/.git && ! echo x > a/.mcp.json && mv a/b/new a/x"
    )
    assert said.code == 0, said.output
    assert sorted(os.listdir(narrow.project / "a")) == ["b", "folder", "x"]


async def test_everything_else_goes_on_as_ever(place: FakePlace):
    said = await place.bash(
        "set -e; umask 027; mkdir -p a/b; echo one > a/b/c; stat -c %a a/b a/b/c; (umask 0; : > open);"
        " stat -c %a open; echo two >> a/b/c; cat a/b/c; set -C; ! : > open; set +C; ln -s nowhere dangling;"
        " echo three > dangling; cat nowhere; mkfifo pipe; (echo four > pipe) & cat pipe; wait;"
        " echo five > >(cat); echo six | tee /dev/stderr 2>/dev/null; mv a/b e; ls e; mkdir -m 700 f;"
        " stat -c %a f; ln open hard; rm -rf a e f; : > /dev/null; ! : > missing/x; ! mkdir hard/x;"
        ' echo seven > "$TMPDIR/.mcp.json"; mkdir -p node_modules/x/.vscode; : > node_modules/x/.npmrc;'
        " mv node_modules/x node_modules/y; ls -A node_modules/y; cd node_modules; : > here; echo x > ../z;"
        " mktemp -p . -t x.XXXXXX > /dev/null; truncate -s 5 ../z; stat -c %s ../z"
    )
    assert said.code == 0, said.output
    words = said.output.split()
    assert words[:4] == ["750", "640", "666", "one"], said.output
    for word in ("two", "three", "four", "five", "six", "c", "700", ".npmrc", ".vscode", "5"):
        assert word in words, said.output


async def test_calls_behave_as_the_kernel_does(place: FakePlace):
    said = await place.python(
        f"{_CALLS}\n"
        "os.mkdir('d'); open('d/f', 'w').close(); here = os.open('d', os.O_RDONLY)\n"
        "tried('exists', os.mkdir, 'd'); tried('slash', os.mkdir, 'e/'); tried('dot', os.mkdir, 'd/.')\n"
        "tried('missing', os.mkdir, 'x/y'); tried('file', os.mkdir, 'd/f/g')\n"
        "tried('exclusive', os.open, 'd/f', os.O_CREAT | os.O_EXCL | os.O_WRONLY)\n"
        "tried('folder', os.open, 'd', os.O_WRONLY); tried('root', os.open, '/', os.O_CREAT | os.O_WRONLY)\n"
        "tried('relative', os.open, 'g', os.O_CREAT | os.O_WRONLY, dir_fd=here)\n"
        "tried('bad folder', os.mkdir, 'g', dir_fd=99); tried('empty', os.mkdir, '')\n"
        "tried('long', os.mkdir, 'x' * 5000); tried('name', os.mkdir, 'x' * 300)\n"
        "tried('rename', os.rename, 'g', 'h', src_dir_fd=here, dst_dir_fd=here)\n"
        "tried('over', os.rename, 'd/h', 'd/f'); tried('into itself', os.rename, 'd', 'd/x')\n"
        "os.symlink('loop', 'loop'); tried('loop', os.open, 'loop', os.O_CREAT | os.O_WRONLY)\n"
        "os.symlink('d/f', 'link'); tried('no link', os.open, 'link', os.O_WRONLY | os.O_NOFOLLOW)\n"
        "tried('link', os.open, 'link', os.O_WRONLY | os.O_TRUNC)\n"
        "held = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600); os.write(held, b'late')\n"
        "def named(*a):\n"
        "    if libc.linkat(*a): raise OSError(ctypes.get_errno(), '')\n"
        "own = f'/proc/self/fd/{held}'.encode(); tried('late', named, -100, own, -100, b'late', 0x400)\n"
        "tried('late protected', named, -100, own, -100, b'd/.npmrc', 0x400)\n"
        "tried('node', os.mknod, 'node', 0o600); tried('device', os.mknod, 'dev', 0o020600, 1 << 8 | 3)\n"
        "print(libc.open(ctypes.c_void_p(1), os.O_CREAT | os.O_WRONLY, 0o600), ctypes.get_errno())\n"
        "flags = os.O_CREAT | os.O_WRONLY\n"
        "print(os.get_inheritable(os.open('i', flags)), libc.fcntl(libc.open(b'j', flags, 0o600), 1))\n"
    )
    assert said.output.splitlines() == [
        "exists File exists", "slash done", "dot File exists", "missing No such file or directory",
        "file Not a directory", "exclusive File exists", "folder Is a directory", "root Is a directory",
        "relative done", "bad folder Bad file descriptor", "empty No such file or directory",
        "long File name too long", "name File name too long", "rename done", "over done",
        "into itself Invalid argument", "loop Too many levels of symbolic links",
        "no link Too many levels of symbolic links", "link done", "late done",
        "late protected Read-only file system", "node done", "device Operation not permitted",
        "-1 14", "False 0",
    ]  # fmt: skip
    assert (place.project / "late").read_text() == "late"
    assert stat.S_IMODE((place.project / "node").stat().st_mode) == 0o600


async def test_a_path_that_changes_under_the_look_makes_nothing_protected(place: FakePlace):
    """S34: two threads share the path; one calls, one swaps it."""
    (place.project / "a").mkdir()
    place.give(place.project)
    said = await place.run(
        place.person.python, "-I", "-c",
        "import ctypes, os, threading\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "path = ctypes.create_string_buffer(b'a/plain__')\n"
        "stop = False\n"
        "def swap():\n"
        "    while not stop:\n"
        "        ctypes.memmove(path, b'a/.npmrc\\0', 9); ctypes.memmove(path, b'a/plain_\\0', 9)\n"
        "thread = threading.Thread(target=swap); thread.start()\n"
        "for _ in range(3000):\n"
        "    number = libc.open(path, os.O_CREAT | os.O_WRONLY, 0o600)\n"
        "    if number >= 0: os.close(number)\n"
        "    libc.mkdir(path, 0o700)\n"
        "stop = True; thread.join(); print(os.listdir('a'))",
    )  # fmt: skip
    assert said.code == 0, said.output
    assert ".npmrc" not in os.listdir(place.project / "a")
    assert ".npmrc" not in said.output


async def test_links_that_change_under_the_look_lead_nowhere_protected(place: FakePlace):
    (place.project / "a").mkdir()
    (place.project / "ok").mkdir()
    place.give(place.project)
    said = await place.run(
        place.person.python, "-I", "-c",
        "import os, subprocess, sys\n"
        "if os.fork() == 0:\n"
        "    for n in range(400):\n"
        "        os.symlink('a/.mcp.json' if n % 2 else 'ok/x', 'new'); os.rename('new', 'way')\n"
        "    os._exit(0)\n"
        "for _ in range(400):\n"
        "    try: os.close(os.open('way', os.O_CREAT | os.O_WRONLY, 0o600))\n"
        "    except OSError: pass\n"
        "os.wait()",
    )  # fmt: skip
    assert said.code == 0, said.output
    assert os.listdir(place.project / "a") == []


async def test_a_pipe_that_nobody_reads_holds_up_only_its_writer(place: FakePlace):
    said = await place.bash(
        "mkfifo pipe; (echo late > pipe) & writer=$!; echo meanwhile > x && cat x;"
        " (echo never > pipe2) & mkfifo other; (echo never > other) & stuck=$!;"
        " cat pipe; wait $writer; kill $stuck; wait $stuck; echo ended > y && cat y"
    )
    assert said.output.splitlines()[-3:] == ["meanwhile", "late", "ended"], said.output


async def test_signals_do_not_make_a_call_run_twice(place: FakePlace):
    said = await place.run(
        place.person.python, "-I", "-c",
        "import os, signal\n"
        "signal.signal(signal.SIGALRM, lambda *_: None); signal.siginterrupt(signal.SIGALRM, False)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\n"
        "for n in range(2000): os.mkdir(f'd{n}')\n"
        "signal.setitimer(signal.ITIMER_REAL, 0); print(len(os.listdir('.')) >= 2000)",
    )  # fmt: skip
    assert said.output == "True\n"


async def test_the_overseer_itself_cannot_be_reached(place: FakePlace):
    said = await place.python(
        f"{_CALLS}\n"
        "parent = os.getppid()\n"
        "for name in ('mem', 'fd/1', 'oom_score_adj', 'environ'):\n"
        "    tried(name, os.open, f'/proc/{parent}/{name}', os.O_RDWR)\n"
        "os.symlink('/proc/self', 'me'); tried('own', os.open, 'me/mem', os.O_RDWR)\n"
        "os.symlink(f'/proc/{parent}', 'it'); tried('linked', os.open, 'it/mem', os.O_RDWR)\n"
        "tried('killed', os.kill, parent, 9); tried('after', os.mkdir, 'after')\n"
    )
    for line in said.output.splitlines()[:6]:
        assert not line.endswith("done"), said.output
    assert said.output.splitlines()[-1] == "after done"


async def test_older_kernels_hold_missing_names_at_the_top_only(place: FakePlace):
    (place.project / "a").mkdir()
    place.give(place.project)
    place.oversees = False
    said = await place.bash("! mkdir .git/x && ! echo x > .mcp.json && mkdir a/.git && echo x > a/new")
    await place.close()
    assert said.code == 0, said.output
    assert os.listdir(place.project) == ["a"]


async def test_what_this_machine_can_do_is_tried_for_real():
    private = open_private_dir({})
    try:
        footing = await find_support(Policy(), private=private, bubblewrap=None)
        assert isinstance(footing, SandboxSupport)
        assert footing.oversees or tuple(map(int, os.uname().release.split(".")[:2])) < (5, 19)
        only_network = await find_support(Policy(filesystem=False), private=private, bubblewrap=None)
        assert isinstance(only_network, SandboxSupport) and not only_network.oversees
    finally:
        close_private_dir(private)


async def test_files_are_opened_rightly_while_orphans_come_to_their_ends(place: FakePlace):
    """Ends of children must not disturb an answer: a call would then return 0 and have opened nothing."""
    assert await place.python(_BUSY) == Said(0, "made\n" * 3)
