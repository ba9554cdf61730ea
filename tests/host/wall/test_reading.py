"""S10, S15, S16: a command that was judged to read can do nothing else, whatever the gate overlooked."""

import asyncio
import os
import shutil
import socket
from pathlib import Path

import pytest

from bridle.host.shell import ShellSetup, command_line
from tests.fakes.judged import KEY, SECRET, FakeJudged

WRITING = [
    # Substitutions that a reader of the command may overlook.
    'echo "$\\\n(touch pwned)"',
    "cat <<E\nx\nE; cat <<\"E\"\n$(touch pwned)\nE\ntouch pwned",
    "cat <<E\n\\\n'$(touch pwned)'\nE",
    "x='a[$'; z='(touch pwned)]'; y=1; [[ \"$x$z $y\" -eq 1 ]]",
    "x='a[$(touch pwned)]'; echo $((x))",
    "x='$(touch pwned)'; echo ${x@P}",
    # Tests that are none.
    "[[a || touch${IFS}pwned ]]",
    "[[a > pwned ]]",
    "[[a =~ x;touch${IFS}pwned ]]",
    # Options that were not seen to be some.
    "find . $'\\x{2d}exec' touch pwned \\;",
    "sort $'\\x{2d}opwned' /dev/null",
    "sort $\\\n'-opwned' /dev/null",
    # Every way to change what has a name.
    "echo x > pwned",
    "echo x >> a.txt",
    ": > a.txt",
    "truncate -s 0 a.txt",
    "mkdir pwned",
    "ln -s /etc pwned",
    "ln a.txt pwned",
    "mkfifo pwned",
    "mv a.txt pwned",
    "rm -f a.txt",
    "chmod 777 a.txt",
    "chmod -R 000 .",
    "touch -d 2001-01-01 a.txt",
    "chown 1:1 a.txt",
    "cp a.txt pwned",
    "tee pwned < a.txt",
    "sed -i s/one/1/ a.txt",
    "dd if=/dev/zero of=pwned count=1 2>/dev/null",
    "python3 -c 'open(\"pwned\", \"w\")'",
    "python3 -c 'import os; os.chmod(\"a.txt\", 0)'",
    "python3 -c 'import os; f = os.open(\"a.txt\", os.O_RDONLY); os.fchmod(f, 0)'",
    "exec 9<a.txt; echo x > /proc/self/fd/9",
    "cd / && echo x > \"$OLDPWD/pwned\"",
    "(exec 3<>pwned)",
    "touch ../outside/pwned",
    "touch ~/pwned",
    "touch /tmp/pwned-$PPID",
    "perl -e 'rename \"a.txt\", \"pwned\"'",
]  # fmt: skip


@pytest.mark.parametrize("command", WRITING)
async def test_nothing_is_written_and_the_command_is_told_of(judged: FakeJudged, command: str):
    name = command.split(maxsplit=1)[0]
    if name in ("perl", "python3") and shutil.which(name) is None:
        pytest.skip(f"{name} is missing")
    before = judged.snapshot()
    ran = await judged.run(command)
    assert judged.snapshot() == before
    assert ran.refusal is not None


READING = [
    "cat $'\\x{2f}etc/hostname'",
    "cat ../outside/secret.txt",
    "cat link",
    "cat [[:alpha:]]ink",
    "cat [l\\]]ink",
    "cat [z]q",
    "cat ~/.profile",
    "cat $\\\nHOME/.profile",
    "diff -rN ra rb",
    "git diff /dev/null dirlink/secret.txt",
    "column -t -N a -J ../outside/secret.txt",
    "diff -D -- --from-file=../outside/secret.txt a.txt",
    "cat /proc/self/root$PWD/../outside/secret.txt",
    "cat /proc/self/cwd/../outside/secret.txt",
    "ls ../outside",
    "grep -r canary ..",
    "python3 -c 'print(open(\"../outside/secret.txt\").read())'",
    "tar cf - ../outside",
    "find ~ -type f",
    "cat < link",
    "head -c 20 /dev/sda /dev/vda /dev/mem /proc/kcore",
]


@pytest.mark.parametrize("command", READING)
async def test_nothing_outside_is_read(judged: FakeJudged, command: str):
    """S30, S31"""
    for name in ("link", "[z]q"):
        (judged.project / name).symlink_to(judged.outside / "secret.txt")
    (judged.project / "dirlink").symlink_to(judged.outside)
    for name, content in (("ra", None), ("rb", "x")):
        (judged.project / name).mkdir()
        if content is None:
            (judged.project / name / "f").symlink_to(judged.outside / "secret.txt")
    ran = await judged.run(command)
    assert SECRET not in ran.said
    assert socket.gethostname() not in ran.said.split()
    assert "secret.txt" not in ran.said.replace("outside/secret.txt", "").replace("dirlink/secret.txt", "")


async def test_a_refused_read_is_told_of(judged: FakeJudged):
    (judged.project / "link").symlink_to(judged.outside / "secret.txt")
    for command in ("cat link", "cat ../outside/secret.txt", "cat a.txt link", "cat link | head -1"):
        ran = await judged.run(command)
        assert ran.refusal is not None and ran.refusal.deed == f"read {judged.outside / 'secret.txt'}", (
            command
        )


async def test_what_the_gate_let_be_read_can_be_read(judged: FakeJudged):
    ran = await judged.run("cat ../outside/secret.txt", readable=(str(judged.outside / "secret.txt"),))
    assert (ran.said, ran.refusal) == (f"{SECRET}\n", None)


@pytest.mark.parametrize(
    "shown", ["env", "jq -n '$ ENV'", "cat /proc/self/environ", "ps -auxwwe", "export -p"]
)
async def test_no_secret_is_in_the_environment(judged: FakeJudged, shown: str):
    """S15"""
    ran = await judged.run(shown)
    assert KEY not in ran.said


async def test_the_environment_of_other_processes_is_hidden(judged: FakeJudged):
    child = await asyncio.create_subprocess_exec(
        "sleep", "60", env={"OTHER_KEY": KEY, "PATH": os.environ["PATH"]}
    )
    try:
        ran = await judged.run(
            f"cat /proc/{child.pid}/environ; ps eww -p {child.pid}; ls /proc/{child.pid}/fd"
        )
        assert KEY not in ran.said
    finally:
        child.kill()
        await child.wait()


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 {pid}",
        "kill -STOP {pid}",
        "kill -9 -{pid}",
        "python3 -c 'import os, signal; os.kill({pid}, 9)'",
        "python3 -c 'import os, signal; signal.pidfd_send_signal(os.pidfd_open({pid}), 9)'",
    ],
)
async def test_no_signal_reaches_another_process(judged: FakeJudged, command: str):
    child = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
    try:
        ran = await judged.run(command.format(pid=child.pid))
        assert ran.refusal is not None and "send a signal" in ran.refusal.deed
        state = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0]
        assert state in "RSD", "it was stopped or ended"
    finally:
        child.kill()
        await child.wait()


async def test_signals_inside_a_command_arrive(judged: FakeJudged):
    ran = await judged.run("sleep 60 & kill $!; wait $!; echo $?; timeout 0.1 sleep 60; echo $?")
    assert (ran.said.splitlines()[-2:], ran.refusal) == (["143", "124"], None)


CONNECTING = [
    "exec 3<>/dev/tcp/127.0.0.1/{port}",
    "exec 3>/dev/udp/127.0.0.1/{port}",
    "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'",
    'python3 -c \'import socket as s; s.socket(2, s.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {port}))\'',
    "curl -s http://127.0.0.1:{port}/",
]


@pytest.mark.parametrize("command", CONNECTING)
async def test_no_connection_is_made_and_the_attempt_is_told_of(judged: FakeJudged, command: str):
    if command.startswith("curl") and shutil.which("curl") is None:
        pytest.skip("curl is missing")
    with socket.socket() as stream, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        stream.bind(("127.0.0.1", 0))
        port = stream.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))
        stream.listen()
        stream.setblocking(False)
        datagrams.setblocking(False)
        ran = await judged.run(command.format(port=port))
        with pytest.raises(BlockingIOError):
            stream.accept()
        with pytest.raises(BlockingIOError):
            datagrams.recv(10)
    assert ran.refusal is not None and ran.refusal.deed == "use the network"


async def test_local_sockets_of_other_programs_are_out_of_reach(judged: FakeJudged, tmp_path: Path):
    path = judged.project / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        script = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})"
        ran = await judged.run(f'python3 -c "{script}"')
        assert ran.code != 0
        with pytest.raises(BlockingIOError):
            listener.accept()


async def test_a_planted_repository_runs_nothing_that_matters(judged: FakeJudged):
    """S17, S40: configuration of a repository names programs, for git to run."""
    bare = judged.project / "sub"
    for folder in ("objects", "refs"):
        (bare / folder).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text(
        f"[core]\nrepositoryformatversion = 0\nbare = false\nworktree = {bare}\n"
        "fsmonitor = touch ../pwned\n[diff]\nexternal = touch ../pwned2\n"
    )
    (bare / "f").write_text("x")
    before = judged.snapshot()
    for command in ("git status", "git diff", "git diff --no-index /dev/null f", "git log"):
        await judged.run(command, cwd=bare)
    assert judged.snapshot() == before


async def test_programs_of_the_project_are_not_run(judged: FakeJudged):
    """S14: what an edit could have made does not run on judgment."""
    folder = judged.project / ".venv" / "bin"
    folder.mkdir(parents=True)
    program = folder / "pip"
    program.write_text("#!/bin/sh\ntouch pwned\necho ran\n")
    program.chmod(0o755)
    ran = await judged.run("pip --version", env={"PATH": f"{folder}:{judged.env['PATH']}"})
    assert "ran" not in ran.said and not (judged.project / "pwned").exists()
    assert ran.refusal is not None and ran.refusal.deed == f"run {program}"


@pytest.mark.parametrize(
    "script",
    [
        "import os; os.setpriority(os.PRIO_PROCESS, os.getppid(), 5)",
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); assert c.syscall(101, 16, 1, 0, 0) < 0; 1/0",
        "import os; os.setxattr('a.txt', 'user.x', b'1')",
        "import ctypes, fcntl; fcntl.ioctl(open('a.txt'), 0x40086602, ctypes.c_long(16))",
        "import os; os.unshare(os.CLONE_NEWUSER)" if hasattr(os, "unshare") else "1/0",
    ],
)
async def test_other_ways_to_change_something_are_closed(judged: FakeJudged, script: str):
    before = judged.snapshot()
    ran = await judged.run(f'python3 -c "{script}"')
    assert ran.code != 0 and judged.snapshot() == before


async def test_a_private_folder_may_be_written(judged: FakeJudged):
    script = (
        'f=$(mktemp) && echo x > "$f" && cat "$f" && chmod 600 "$f" && rm "$f" && mkdir "$(dirname "$f")/d"'
    )
    ran = await judged.run(script)
    assert (ran.code, ran.said, ran.refusal) == (0, "x\n", None)
    assert os.listdir(os.path.dirname(judged.shells.holds.temporary)) is not None
    assert os.listdir(judged.shells.holds.temporary) == []


async def test_output_can_be_opened_by_its_name(judged: FakeJudged):
    ran = await judged.run(
        "echo a > /dev/stderr; echo b > /dev/stdout; echo c | tee /dev/stderr >/dev/null; echo d >/dev/null"
    )
    assert (ran.said, ran.refusal) == ("a\nb\nc\n", None)


async def test_a_terminal_is_absent_at_once(judged: FakeJudged):
    ran = await judged.run("echo x > /dev/tty")
    assert ran.code == 1 and ran.refusal is None


async def test_descriptors_of_other_programs_are_out_of_reach(judged: FakeJudged):
    reading, writing = os.pipe()
    child = await asyncio.create_subprocess_exec("sleep", "60", stdout=writing, start_new_session=True)
    os.set_blocking(reading, False)
    try:
        await judged.run(f"echo canary > /proc/{child.pid}/fd/1")
        await judged.run(f"echo canary > /proc/{os.getpid()}/fd/{writing}")
        with pytest.raises(BlockingIOError):
            os.read(reading, 100)
    finally:
        child.kill()
        await child.wait()
        os.close(reading)
        os.close(writing)


async def test_no_device_is_made_even_in_the_private_folder(judged: FakeJudged):
    script = (
        'd=$(dirname "$(mktemp -u)"); mknod "$d/disk" b 8 0; mknod "$d/null" c 1 3; mkfifo "$d/p"; ls "$d"'
    )
    ran = await judged.run(script)
    assert (ran.said.splitlines()[-1], ran.said.count("Operation not permitted"), ran.refusal) == (
        "p",
        2,
        None,
    )


async def test_a_script_before_the_command_leaves_no_secret(judged: FakeJudged, tmp_path: Path):
    """S15: what hooks write for later commands is sourced first, and only harmless variables of it stay."""
    script = tmp_path / "env.sh"
    script.write_text(f"export DEPLOY_KEY={KEY}\nexport LANG=C.UTF-8\n")
    setup = ShellSetup(before=str(script))
    argv = command_line("/bin/bash", "env; echo $LANG", judged=True, setup=setup)
    shell = judged.shells.launch(
        argv, cwd=str(judged.project), env=judged.env, output_file=str(tmp_path / "out"),
        view=judged.view("read", readable=(str(script),)), command="env",
    )  # fmt: skip
    assert await judged.shells.follow(shell, timeout=100) == "ended"
    said = (tmp_path / "out").read_text()
    assert KEY not in said and said.endswith("C.UTF-8\n")
    judged.shells.release(shell, keep_output=False)
