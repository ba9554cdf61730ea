import os
import stat
import subprocess
from pathlib import Path

import pytest

from bridle.host.sandbox.policy import FILES, FOLDERS, Policy
from tests.fakes.confined import FakePlace


async def test_working_folder_and_temporary_folder_can_be_written(place: FakePlace):
    said = await place.bash(
        "set -e; mkdir -p a/b; echo one > a/b/c; mv a/b/c d; ln d e; ln -s d f; rm d f; rmdir a/b;"
        ' echo two > "$TMPDIR/x"; cat e "$TMPDIR/x"; echo three > /dev/null; echo four > /dev/shm/y'
    )
    assert said.output == "one\ntwo\n"
    assert said.code == 0
    assert (place.project / "e").read_text() == "one\n"


@pytest.mark.parametrize(
    "script",
    [
        "echo x > ../outside/new",
        "echo x >> ../outside/old",
        "rm ../outside/old",
        "mv ../outside/old here",
        "mv mine ../outside/mine",
        "ln mine ../outside/linked",
        "mkdir ../outside/folder",
        "ln -s /etc/passwd ../outside/link",
        "mkfifo ../outside/pipe",
        "chmod 777 ../outside/old",
        "touch ../outside/old",
        "truncate -s 0 ../outside/old",
        "ln -s ../outside way && echo x > way/new",
        "ln -s ../outside/old way && echo x > way",
        "ln ../outside/old stolen && echo x > stolen",
        "mkdir ../project2",
        "echo x > /proc/self/root$PWD/../outside/new",
        "cd ../outside && echo x > new",
        'echo x > "$HOME/new"',
    ],
)
async def test_nothing_outside_changes(place: FakePlace, script: str):
    (place.outside / "old").write_text("kept")
    (place.outside / "old").chmod(0o644)
    (place.project / "mine").write_text("mine")
    place.give(place.base)
    before = _picture(place.outside)
    said = await place.bash(script)
    assert said.code != 0
    assert _picture(place.outside) == before
    assert sorted(os.listdir(place.base)) == ["outside", "project", "registry"]


def _picture(folder: Path) -> list[tuple[str, int, int, bytes]]:
    return [
        (path.name, (info := path.lstat()).st_mode, info.st_nlink, path.read_bytes())
        for path in sorted(folder.iterdir())
    ]


async def test_protected_names_cannot_be_made(place: FakePlace):
    tries = [f"mkdir -p {name}/hooks; echo x > {name}/hooks/run" for name in FOLDERS]
    tries += [f"echo x > {name}; mv -f other {name}; ln -sf other {name}; rm -rf {name}" for name in FILES]
    (place.project / "other").write_text("x")
    place.give(place.project)
    await place.bash("\n".join(tries))
    await place.close()
    assert os.listdir(place.project) == ["other"]


@pytest.mark.parametrize(
    "script",
    [
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "mv .git gone",
        "mv .git/hooks gone",
        "rm -rf .git",
        "mkdir new && mv new .git/hooks",
        "echo x > .claude/settings.json",
        "echo x > .claude/settings.local.json",
        "mv .claude gone && mkdir .claude && echo x > .claude/settings.json",
        "echo x > .mcp.json",
        "mv good .mcp.json",
        "ln -f good .mcp.json",
        "ln .mcp.json twin && echo x > twin",
        "rm .mcp.json",
        "echo x > deep/down/.git/config",
        "mv deep gone && mkdir -p deep/down/.git && echo x > deep/down/.git/config",
        "mv .bashrc gone && echo x > .bashrc",
        "rm .bashrc && echo x > .bashrc",
        "echo x > .Git/config",
    ],
)
async def test_what_is_protected_stays_as_it_is(place: FakePlace, script: str):
    project = place.project
    for folder in (".git/hooks", ".claude", "deep/down/.git", ".Git"):
        (project / folder).mkdir(parents=True)
    for name in (".git/config", ".claude/settings.json", "deep/down/.git/config", ".mcp.json", ".Git/config"):
        (project / name).write_text("kept")
    (project / "good").write_text("bad")
    (place.outside / "bashrc").write_text("kept")
    (project / ".bashrc").symlink_to(place.outside / "bashrc")
    place.give(place.base)
    said = await place.bash(script)
    await place.close()
    assert said.code != 0
    assert sorted(os.listdir(project / ".git")) == ["config", "hooks"]
    assert os.listdir(project / ".git/hooks") == []
    assert os.listdir(project / ".claude") == ["settings.json"]
    for name in (".git/config", ".claude/settings.json", "deep/down/.git/config", ".mcp.json", ".Git/config"):
        assert (project / name).read_text() == "kept"
    assert os.readlink(project / ".bashrc") == str(place.outside / "bashrc")


async def test_worktrees_are_open_although_their_folder_is_not(place: FakePlace):
    (place.project / ".claude/worktrees/one").mkdir(parents=True)
    place.give(place.project)
    said = await place.bash(
        "echo x > .claude/worktrees/one/file && ! echo x > .claude/settings.json"
        " && mkdir .claude/worktrees/two"
    )
    assert said.code == 0
    assert (place.project / ".claude/worktrees/one/file").exists()


async def test_git_works_for_reading_and_sees_no_stand_ins(place: FakePlace):
    os.chown(place.project, os.getuid(), os.getgid())
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"]
    for words in (["init", "-q", "."], commit):
        subprocess.run(["git", *words], cwd=place.project, check=True)
    place.give(place.project)
    said = await place.bash(
        "git status --porcelain && git log --format=%s && ! git commit --allow-empty -m two"
    )
    assert (said.code, said.output.splitlines()[0]) == (0, "one"), said.output


async def test_stand_ins_are_there_only_while_commands_run(place: FakePlace):
    (place.project / "kept").write_text("")
    place.give(place.project)
    said = await place.bash("cat .mcp.json .bashrc; ls -A .git")
    await place.close()
    assert (said.code, said.output) == (0, "")
    assert os.listdir(place.project) == ["kept"]


async def test_denied_paths_beat_allowed_ones(place: FakePlace):
    (place.project / "sub").mkdir()
    (place.project / "sub/file").write_text("kept")
    place.give(place.base)
    place.open(
        Policy(
            writable=(str(place.outside),),
            never_writable=(
                str(place.project / "sub"),
                str(place.project / "later/on"),
                str(place.outside / "no"),
            ),
        )
    )
    said = await place.bash(
        "echo x > ../outside/yes && ! echo x > sub/file && ! mv sub gone && ! mkdir -p later/on"
        " && ! mkdir ../outside/no"
    )
    assert said.code == 0, said.output
    assert (place.project / "sub/file").read_text() == "kept"
    assert (place.outside / "yes").exists()


async def test_unreadable_paths_cannot_be_read_except_what_is_opened_again(place: FakePlace):
    for name in ("secret", "open/also", "file"):
        (place.outside / name).parent.mkdir(parents=True, exist_ok=True)
        (place.outside / name).write_text("hush")
    (place.project / "key").write_text("hush")
    place.give(place.base)
    place.open(
        Policy(
            unreadable=(str(place.outside), str(place.project / "key")),
            readable_again=(str(place.outside / "open"),),
        )
    )
    said = await place.bash(
        "cat ../outside/secret; ls ../outside; cat key; rm -f key; cat ../outside/open/also"
    )
    assert said.output.count("hush") == 1
    assert said.output.endswith("hush")
    assert "secret\n" not in said.output.replace("outside/secret", "")
    assert (place.project / "key").read_text() == "hush"


async def test_only_the_network_is_cut_off_when_files_are_left_alone(place: FakePlace):
    place.open(Policy(filesystem=False))
    said = await place.bash("echo x > ../outside/new; echo > /dev/tcp/127.0.0.1/9")
    assert (place.outside / "new").exists()
    assert said.code != 0


async def test_system_settings_cannot_be_written(place: FakePlace):
    targets = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/proc/self/oom_score_adj",
        "/proc/1/oom_score_adj",
        "/sys/kernel/uevent_helper",
        "/etc/passwd",
        "/dev/vda",
        "/dev/mem",
    ]
    said = await place.bash("\n".join(f"(: >> {target}) 2>/dev/null && echo {target}" for target in targets))
    assert said.output == ""


async def test_own_program_cannot_be_changed(place: FakePlace):
    said = await place.bash(f"echo x >> {place.private.folder if place.sandbox else '/nowhere'}/door")
    assert said.code != 0
    said = await place.bash(
        f"echo x >> {place.private.launcher}; rm -f {place.private.launcher}; ls {place.private.folder}"
    )
    assert Path(place.private.launcher).exists()


async def test_output_can_be_opened_again_by_name(place: FakePlace):
    said = await place.bash(
        "echo one >> /dev/stderr; echo two >> /dev/stdout; echo three | tee -a /dev/stderr > /dev/null"
    )
    assert said.output == "one\ntwo\nthree\n"


async def test_landlock_alone_holds_protected_names_by_closing_the_top(narrow: FakePlace):
    (narrow.project / "src").mkdir()
    (narrow.project / ".git").mkdir()
    (narrow.project / "file").write_text("old")
    narrow.give(narrow.project)
    said = await narrow.bash(
        "echo x > src/new && echo new > file && ! echo x > .git/config && ! echo x > .mcp.json"
        " && ! mkdir .vscode && ! echo x > ../outside/new && ! mv src .claude && ! mv src/new .bashrc"
    )
    assert said.code == 0, said.output
    assert (narrow.project / "file").read_text() == "new\n"
    assert sorted(os.listdir(narrow.project)) == [".git", "file", "src"]
    assert os.listdir(narrow.project / ".git") == []


async def test_landlock_alone_opens_the_top_when_the_user_accepts_less(narrow: FakePlace):
    narrow.open(Policy(weaker_nesting=True))
    said = await narrow.bash("echo x > new && ! echo x > ../outside/new")
    assert said.code == 0
    assert (narrow.project / "new").exists()


async def test_landlock_alone_hides_what_may_not_be_read(narrow: FakePlace):
    (narrow.outside / "secret").write_text("hush")
    (narrow.outside / "known").write_text("known")
    narrow.give(narrow.base)
    narrow.open(Policy(unreadable=(str(narrow.outside / "secret"),)))
    said = await narrow.bash("cat ../outside/secret; cat ../outside/known")
    assert "hush" not in said.output
    assert "known" in said.output


def test_room_is_private_and_its_name_is_not_to_be_guessed(tmp_path: Path):
    from bridle.host.sandbox.private_dir import close_private_dir, open_private_dir

    first, second = open_private_dir({"TMPDIR": "/tmp"}), open_private_dir({"TMPDIR": "/tmp"})
    assert first.folder != second.folder
    assert stat.S_IMODE(os.stat(first.folder).st_mode) == 0o700
    for private in (first, second):
        close_private_dir(private)
        assert not os.path.exists(private.folder)
