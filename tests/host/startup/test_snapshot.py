import os
from pathlib import Path
from typing import Any

from bridle.host.startup.definitions import read_definitions
from bridle.host.startup.files import bashrc_left_out, own_files
from bridle.host.startup.snapshot import Snapshot, Source, take, write_script


def _source(folder: Path, text: str | None, **more: Any) -> Source:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    if text is not None:
        (home / ".bashrc").write_text(text)
    return Source(
        shell="bash",
        program="/bin/bash",
        home=str(home),
        folder=str(home),
        env={"PATH": os.environ["PATH"]},
        storage=str(folder / "kept"),
        **more,
    )


async def _taken(source: Source) -> Snapshot:
    found = await take(source)
    assert found is not None
    return found


async def test_who_has_no_start_up_files_has_no_snapshot(tmp_path: Path):
    assert await take(_source(tmp_path, None)) is None
    assert not (tmp_path / "kept").exists()


async def test_a_snapshot_holds_aliases_functions_options_and_folders(tmp_path: Path):
    text = """
alias a="b 'c' d "
alias '!bad'=x
f() { echo "two
lines"; }
_private() { :; }
command_not_found_handle() { :; }
PATH="$HOME/first:relative:$PATH:$HOME/last"
set -o noclobber -o errexit
shopt -s dotglob
"""
    found = await _taken(_source(tmp_path, text))

    assert found.aliases == {"a": "b 'c' d"}
    assert list(found.functions) == ["f"]
    assert found.options == ("noclobber",)
    home = tmp_path / "home"
    assert (found.front, found.back) == ((f"{home}/first",), (f"{home}/last",))
    assert "two\nlines" in Path(write_script(str(tmp_path / "kept"), "bash", {}, found.functions)).read_text()


async def test_a_start_up_file_that_hangs_is_ended_and_not_tried_again(tmp_path: Path):
    source = _source(tmp_path, "echo $$ > ~/pid\nsleep 1000\n", limit=0.3)
    found = await _taken(source)

    assert found.failure == "they took more than 0.3 s"
    first = (tmp_path / "home" / "pid").read_text() if (tmp_path / "home" / "pid").exists() else ""
    assert (await _taken(source)).failure == found.failure
    if first:
        assert (tmp_path / "home" / "pid").read_text() == first


async def test_endless_output_is_a_failure(tmp_path: Path):
    assert (await _taken(_source(tmp_path, "yes\n"))).failure


async def test_a_changed_file_that_another_one_reads_makes_a_new_snapshot(tmp_path: Path):
    source = _source(tmp_path, '. "$HOME/more/names.sh"\n')
    more = tmp_path / "home" / "more" / "names.sh"
    more.parent.mkdir()
    more.write_text("alias a=one\n")
    before = await _taken(source)
    more.write_text("alias a=two\n")
    after = await _taken(source)

    assert (before.aliases, after.aliases) == ({"a": "one"}, {"a": "two"})


async def test_what_others_could_have_written_is_not_believed(tmp_path: Path):
    source = _source(tmp_path, "alias a=mine\n")
    await _taken(source)
    (kept,) = (tmp_path / "kept").iterdir()
    forged = kept.read_bytes().replace(b"mine", b"evil")
    for mode, target in ((0o666, kept), (0o600, tmp_path / "elsewhere")):
        target.write_bytes(forged)
        target.chmod(mode)
        if target is not kept:
            kept.unlink()
            kept.symlink_to(target)
        assert (await _taken(source)).aliases == {"a": "mine"}
    kept.write_bytes(b"{")
    assert (await _taken(source)).aliases == {"a": "mine"}


def test_login_files_that_leave_out_the_bashrc_are_seen(tmp_path: Path):
    (tmp_path / ".bashrc").write_text("")
    assert bashrc_left_out(str(tmp_path)) == str(tmp_path / ".bashrc")
    (tmp_path / ".profile").write_text(". ~/.bashrc\n")
    assert bashrc_left_out(str(tmp_path)) == ""
    (tmp_path / ".bash_profile").write_text("true\n")
    assert bashrc_left_out(str(tmp_path)) == str(tmp_path / ".bashrc")


def test_files_that_name_each_other_are_followed_once(tmp_path: Path):
    (tmp_path / ".bashrc").write_text("source ~/.bash_aliases; . $HOME/b\n. ~/missing\n. $(evil)\n")
    (tmp_path / ".bash_aliases").write_text(". ~/.bashrc\n")
    (tmp_path / "b").write_text("")

    assert sorted(os.path.basename(each) for each in own_files("bash", str(tmp_path), str(tmp_path))) == [
        ".bash_aliases", ".bashrc", "b",
    ]  # fmt: skip


def test_output_of_a_shell_that_stopped_early_is_nothing():
    assert read_definitions(b"", "m") is None
    assert read_definitions(b"junk\nm\0/bin\0m\0a\0b\0m\0f\0", "m") is None
    assert read_definitions(b"\xff\nm\0/bin\0m\0a\0\xff\0m\0m\0", "m") is not None
