"""Panes of terminal programs: which are chosen, and how they are opened and closed."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bridle.host.panes.iterm import ItermPanes
from bridle.host.panes.pane import Pane, PaneFault
from bridle.host.panes.selection import choose_panes
from bridle.host.panes.tmux import TmuxPanes
from tests.fakes.processes import eventually, is_running
from tests.fakes.tmux import Tmux, needs_tmux, tmux_with

_ITERM = {"TERM_PROGRAM": "iTerm.app", "ITERM_SESSION_ID": "w0t0p0:AAAA"}


def _with_program(folder: Path, name: str, text: str) -> Mapping[str, str]:
    """An environment in which a program of this name is found first."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


async def test_in_process_wants_no_panes():
    assert await choose_panes("in-process", {**os.environ, "TMUX": "x,1,2"}, name="blue") is None


async def test_auto_takes_what_the_session_runs_in(tmp_path: Path):
    tmux = _with_program(tmp_path / "a", "tmux", "echo tmux 3.4")
    it2 = _with_program(tmp_path / "b", "it2", "true")
    assert await choose_panes("auto", {**tmux}, name="blue") is None
    assert isinstance(await choose_panes("auto", {**tmux, "TMUX": "/s,1,0"}, name="blue"), TmuxPanes)
    assert isinstance(await choose_panes("auto", {**it2, **_ITERM}, name="blue"), ItermPanes)
    assert await choose_panes("auto", {"PATH": "/nowhere", **_ITERM}, name="blue") is None


@pytest.mark.parametrize(
    "version", ["tmux 3.0a", "tmux 3.6", "tmux next-3.7", "tmux master", "tmux openbsd-7.4"]
)
async def test_a_tmux_that_is_new_enough_will_do(tmp_path: Path, version: str):
    env = _with_program(tmp_path, "tmux", f"echo {version}")
    assert isinstance(await choose_panes("tmux", env, name="blue"), TmuxPanes)


@pytest.mark.parametrize(
    ("mode", "env", "why"),
    [
        ("tmux", {"PATH": "/nowhere"}, "tmux cannot be started"),
        ("iterm2", {"PATH": "/nowhere"}, "this terminal is not iTerm2"),
        ("iterm2", {"PATH": "/nowhere", **_ITERM}, "it2 is not installed"),
    ],
)
async def test_what_cannot_be_had_is_said_in_a_sentence(mode: Any, env: Mapping[str, str], why: str):
    with pytest.raises(PaneFault, match=why):
        await choose_panes(mode, env, name="blue")


async def test_iterm_splits_beside_us_and_types_the_command(tmp_path: Path):
    text = f'echo "$@" >> {tmp_path}/log; case "$2" in split) echo "Created new pane: PANE-$$";; esac'
    panes = ItermPanes({**_with_program(tmp_path / "bin", "it2", text), **_ITERM})
    pane = await panes.open(["program", "a b"], cwd="/some where", title="ann", color="red")
    await panes.close(pane)
    await panes.close(pane)
    assert (tmp_path / "log").read_text().splitlines() == [
        "session split -v -s AAAA",
        f"session run -s {pane.id} cd '/some where' && exec program 'a b'",
        f"session close -f -s {pane.id}",
    ]


async def test_an_it2_that_fails_opens_no_pane(tmp_path: Path):
    panes = ItermPanes({**_with_program(tmp_path, "it2", "echo no python api >&2; exit 1"), **_ITERM})
    with pytest.raises(PaneFault, match="no python api"):
        await panes.open(["program"], cwd="/", title="ann", color="red")


@needs_tmux
async def test_inside_tmux_our_own_window_is_split_and_put_back(tmp_path: Path):
    async with tmux_with(tmp_path, ["sleep", "100"], size=(200, 50), env={}) as tmux:
        panes = TmuxPanes(await _inside(tmux, tmp_path), name="blue")
        ann = await panes.open(["sleep", "100"], cwd=str(tmp_path), title="ann", color="orange")
        bob = await panes.open(["sleep", "100"], cwd=str(tmp_path), title="bob", color="green")
        rows = await _panes(tmux)
        assert sorted(row.split()[:2] for row in rows[1:]) == [["ann", "fg=colour208"], ["bob", "fg=green"]]
        # One side of a wide window stays ours, the others share the rest.
        assert (rows[0].split()[-1], len({row.split()[-1] for row in rows[1:]})) == ("80", 1)
        assert panes.hint is None
        await panes.close(ann)
        await panes.close(bob)
        await panes.finish()
        (left,) = await _panes(tmux)
        assert left.split()[1] == "default"
        assert (await tmux.run("show-options", "-wv", "pane-border-status")).strip() == ""
        await eventually(lambda: not is_running(ann.pid or 0) and not is_running(bob.pid or 0))


@needs_tmux
async def test_a_window_without_room_leads_to_another_window(tmp_path: Path):
    async with tmux_with(tmp_path, ["sleep", "100"], size=(20, 6), env={}) as tmux:
        panes = TmuxPanes(await _inside(tmux, tmp_path), name="blue")
        opened = [
            await panes.open(["sleep", "100"], cwd="/", title=f"t{each}", color="red") for each in range(12)
        ]
        assert len((await tmux.run("list-panes", "-s")).splitlines()) == 13
        assert len((await tmux.run("list-windows")).splitlines()) > 1
        assert len({pane.id for pane in opened}) == 12


@needs_tmux
async def test_a_pane_of_the_same_number_is_not_taken_for_ours(tmp_path: Path):
    async with tmux_with(tmp_path, ["sleep", "100"], size=(80, 24), env={}) as tmux:
        panes = TmuxPanes(await _inside(tmux, tmp_path), name="blue")
        pane = await panes.open(["sleep", "100"], cwd="/", title="ann", color="red")
        # A server that was killed and started anew counts from the beginning.
        await panes.close(Pane(id=pane.id, pid=1))
        assert len(await _panes(tmux)) == 2


async def _inside(tmux: Tmux, folder: Path) -> Mapping[str, str]:
    """The environment of a program in the first pane."""
    pane = (await tmux.run("display-message", "-p", "#{pane_id}")).strip()
    return {**os.environ, "TMUX": f"{folder}/tmux,1,0", "TMUX_PANE": pane}


async def _panes(tmux: Tmux) -> list[str]:
    shown = "#{pane_title} #{E:pane-border-style} #{pane_width}"
    return (await tmux.run("list-panes", "-F", shown)).splitlines()
