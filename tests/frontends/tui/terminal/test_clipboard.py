from pathlib import Path

from bridle.frontends.tui.terminal.clipboard import copy_here


def _programs(folder: Path, **scripts: str) -> dict[str, str]:
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "DISPLAY": ":0"}


async def test_a_program_of_this_machine_gets_the_text(tmp_path: Path):
    env = _programs(tmp_path, pbcopy="exit 1", xclip=f'cat > {tmp_path}/kept; echo "$@" >> {tmp_path}/kept')

    assert await copy_here("some é text\n", env)
    assert (tmp_path / "kept").read_text() == "some é text\n-selection clipboard -in\n"


async def test_over_ssh_and_without_a_screen_nothing_is_run(tmp_path: Path):
    env = _programs(tmp_path, xclip=f"cat > {tmp_path}/kept")

    assert not await copy_here("x", {**env, "SSH_CONNECTION": "1"})
    assert not await copy_here("x", {**env, "DISPLAY": "", "PATH": str(tmp_path)})
    assert not (tmp_path / "kept").exists()
