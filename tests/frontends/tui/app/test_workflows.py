"""Workflow runs at the terminal: approved, followed, directed and kept, with real runs behind the screen."""

import re
import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import step
from tests.fakes.processes import eventually
from tests.frontends.tui.app.session import READY, Terminal, bridle

_DOWN, _RIGHT, _LEFT, _ESC = "\x1b[B", "\x1b[C", "\x1b[D", "\x1b"
_ALLOWED = {"permissions": {"allow": ["Bash", "Workflow"]}}
_QUICK: dict[str, Any] = {"CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS": "0"}
_SCRIPT = """export const meta = {name: 'dig-all', description: 'Digs holes', phases: [{title: 'Dig'}]}
phase('Dig')
log('Two holes')
const holes = ['well', 'pit']
const dug = await parallel(holes.map(hole => () => agent(`Dig the ${hole}.`, {label: `dig ${hole}`})))
return dug.join(' ')
"""


def _calls(tool: str, id: str, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": tool, "input": input}


def _talk(*holes: str, **launch: object) -> list[Any]:
    """The main thread starts a workflow; each agent waits for a file of its name, then reports."""
    steps: list[Any] = [
        step(_calls("Workflow", "toolu_wf", **(launch or {"script": _SCRIPT})), when="by a workflow"),
        step("The workflow runs.", when="by a workflow"),
    ]
    for hole in holes:
        waits = f"until [ -e {hole} ]; do sleep 0.05; done"
        steps.append(
            step(_calls("Bash", f"toolu_{hole}", command=waits), when=f"Dig the {hole}.", repeat=False)
        )
        steps.append(step(f"The {hole} is dug.", when=f"toolu_{hole}", repeat=True))
    return [*steps, step("So be it.", repeat=True)]


async def _begin(terminal: Terminal) -> None:
    await terminal.ready()
    await terminal.say("by a workflow")
    await terminal.until_text("The workflow runs.")


@asynccontextmanager
async def _at_work(folder: Path, *flags: str, **options: Any) -> AsyncGenerator[Terminal]:
    """A session in which a run has begun that nobody is asked about."""
    wanted: dict[str, Any] = {"settings": _ALLOWED, "size": (110, 30), **_QUICK, **options}
    async with bridle(folder, _talk("well", "pit"), *flags, **wanted) as terminal:
        await _begin(terminal)
        yield terminal


async def _watch(terminal: Terminal, command: str = "/workflows") -> None:
    await terminal.say(command)
    await terminal.until_text("1 running")


def _begun(terminal: Terminal) -> list[str]:
    """The holes that agents were sent to, in order."""
    first = [str(request["messages"]) for request in terminal.asked if len(request["messages"]) == 1]
    return [found[1] for text in first if (found := re.search(r"Dig the (\w+)\.", text))]


def _finish(terminal: Terminal, *holes: str) -> None:
    for hole in holes:
        (terminal.program.project / hole).touch()


async def test_a_run_is_a_row_while_it_works_and_is_watched_down_to_its_agents(tmp_path: Path):
    async with _at_work(tmp_path) as terminal:
        await terminal.until_text("◐ dig-all · Dig: 0 of 2 agents done")
        await terminal.until(lambda screen: "├─" not in screen.text)
        await _watch(terminal)
        terminal.type("\r")
        await terminal.until_text("· Two holes")
        await terminal.until(lambda screen: screen.text.count("1 call ") == 2)
        terminal.type(_RIGHT)
        await terminal.until_text("x stop")
        terminal.type("\r")
        await terminal.until_text("Dig the well.")
        await terminal.until_text("◐ Bash until [ -e well ]")
        terminal.type("t")
        await terminal.until_text("q close")
        terminal.type("q")
        await terminal.until_text("1. dig well")
        _finish(terminal, "well")
        await terminal.until_text("The well is dug.")
        terminal.type(_ESC)
        await terminal.until(lambda screen: re.search(r"› ✓ dig well +", screen.text))
        _finish(terminal, "pit")
        await terminal.until_text("✓ completed")
        await terminal.until_text("The well is dug. The pit is dug.")
        terminal.type("q")
        await terminal.until(lambda screen: READY in screen.text and "agents done ·" not in screen.text)


async def test_a_run_is_paused_gone_on_with_stopped_and_resumed(tmp_path: Path):
    async with _at_work(tmp_path) as terminal:
        await _watch(terminal)
        terminal.type("p")
        await terminal.until_text("‖ dig-all")
        await terminal.until_text("Paused ")
        terminal.type("r")
        await terminal.until_text("◐ dig-all")
        _finish(terminal, "well")
        await terminal.until_text("1/2")
        terminal.type("x")
        await terminal.until_text("Stop the run and all its agents?")
        terminal.type("n")
        await terminal.until_text("◐ dig-all")
        terminal.type("xy")
        await terminal.until_text("■ dig-all")
        await terminal.until_text("Stopped ")
        began = _begun(terminal)
        terminal.server.script(
            [step("The pit is dug now.", when="Dig the pit."), step("So be it.", repeat=True)]
        )
        terminal.type("r")
        await terminal.until_text("reusing 1 result")
        await terminal.until_text("✓ dig-all")
        assert _begun(terminal)[len(began) :] == ["pit"]


async def _go_on_without_the_pit(terminal: Terminal) -> None:
    await _watch(terminal)
    terminal.type("\r" + _RIGHT)
    await terminal.until(lambda screen: screen.text.count("1 call ") == 2)
    terminal.type(_DOWN)
    await terminal.until_text("› ◐ dig pit")
    terminal.type("n")


async def test_one_agent_is_restarted_and_another_gone_on_without(tmp_path: Path):
    async with _at_work(tmp_path) as terminal:
        await _go_on_without_the_pit(terminal)
        await terminal.until_text("Agent 2 (dig pit) is skipped.")
        await terminal.until_text("Skipped")
        terminal.server.script([step("Dug at once.", when="Dig the well."), step("So be it.", repeat=True)])
        terminal.type("\x1b[H")
        await terminal.until_text("› ◐ dig well")
        terminal.type("r")
        await terminal.until_text("✓ completed")
        await terminal.until_text("Dug at once.")


async def test_an_agent_that_was_left_out_is_begun_anew_while_the_other_works(tmp_path: Path):
    async with _at_work(tmp_path) as terminal:
        await _go_on_without_the_pit(terminal)
        await terminal.until_text("Skipped")
        terminal.server.script(
            [
                step("The pit is dug now.", when="Dig the pit."),
                step("The well is dug.", when="toolu_well"),
                step("So be it.", repeat=True),
            ]
        )
        terminal.type("r")
        await terminal.until_text("Agent 2 (dig pit) is restarted.")
        await terminal.until(lambda screen: "✓ dig pit" in screen.text and "◐ dig well" in screen.text)
        _finish(terminal, "well")
        await terminal.until_text("✓ completed")
        await terminal.until_text("The pit is dug now.")
        assert sorted(_begun(terminal)) == ["pit", "pit", "well"]


async def test_a_script_is_saved_as_a_command_and_run_from_the_list(tmp_path: Path):
    async with _at_work(tmp_path) as terminal:
        saved = terminal.program.project / ".claude" / "workflows" / "dig-all.js"
        await _watch(terminal)
        terminal.type("s")
        await terminal.until_text("Save the script as a command.")
        terminal.type("\r")
        await terminal.until_text("for me in every project")
        terminal.type("\r")
        await terminal.until_text("Saved to")
        assert saved.read_text() == _SCRIPT
        await terminal.until_text("/dig-all")
        saved.write_text("changed")
        terminal.type("s\r\r")
        # Where its row breaks depends on the folder of the test.
        await terminal.until(lambda screen: "already exists. Replace it?" in " ".join(screen.text.split()))
        terminal.type("n")
        await terminal.until_text("esc close")
        assert saved.read_text() == "changed"
        terminal.type("s\r\r")
        await terminal.until_text("Replace it?")
        terminal.type("y")
        await terminal.until_text("Saved to")
        assert saved.read_text() == _SCRIPT
        await terminal.until(lambda screen: re.search(r"  · /dig-all +project", screen.text))
        terminal.type(_DOWN)
        await terminal.until_text("› · /dig-all")
        terminal.type("\r")
        await terminal.until_text("❯ /dig-all")


async def test_a_named_run_is_opened_and_left_step_by_step_in_a_narrow_window(tmp_path: Path):
    async with bridle(tmp_path, _talk("well", "pit"), settings=_ALLOWED, size=(60, 24), **_QUICK) as terminal:
        await _begin(terminal)
        found = re.search(r"wf_[0-9a-f]{12}", terminal.emulator.text)
        assert found is not None
        await _watch(terminal, f"/workflows {found[0]}")
        await terminal.until_text("All agents  0/2")
        terminal.type("\r")
        await terminal.until_text("◐ dig well")
        terminal.type(_LEFT)
        await terminal.until(lambda screen: "dig well" not in screen.text and "Dig " in screen.text)
        terminal.type(_LEFT)
        await terminal.until_text("/deep-research")
        terminal.type("\x03")
        await terminal.until_text("? for keys")


async def test_without_runs_the_view_says_how_to_begin(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await terminal.say("/workflows")
        await terminal.until_text("No workflow has run in this session.")
        terminal.type("\r")
        await terminal.until_text("❯ /deep-research")


async def test_runs_of_an_earlier_process_are_there_to_be_resumed(tmp_path: Path):
    session = "00000000-0000-4000-8000-000000000001"
    options: dict[str, Any] = {"settings": _ALLOWED, "size": (110, 30), **_QUICK}
    async with _at_work(tmp_path, "--session-id", session) as terminal:
        _finish(terminal, "well")
        await terminal.until_text("1 of 2 agents done")
    async with bridle(tmp_path, _talk("well", "pit"), "--resume", session, **options) as terminal:
        await terminal.ready()
        await terminal.say("/workflows")
        await terminal.until_text("■ dig-all")
        await terminal.until_text("interrupted")
        _finish(terminal, "pit")
        terminal.type("r")
        await terminal.until_text("✓ dig-all")


async def test_in_a_window_of_its_own_the_run_is_watched_too(tmp_path: Path):
    async with _at_work(tmp_path, CLAUDE_CODE_NO_FLICKER="1") as terminal:
        await terminal.until_text("◐ dig-all")
        await _watch(terminal)
        terminal.type("\r")
        await terminal.until_text("dig well")
        terminal.type("q")
        await terminal.ready()
        assert terminal.emulator.is_alternate


async def test_a_screen_reader_hears_lines(tmp_path: Path):
    async with _at_work(tmp_path, "--ax-screen-reader", size=(100, 40)) as terminal:
        await terminal.say("/workflows")
        await terminal.until(lambda screen: re.search(r"wf_\w{12}  running .* dig-all", screen.text))
        _finish(terminal, "well", "pit")
        await terminal.until(lambda screen: re.search(r"✓ dig-all: Digs holes · completed", screen.text))


async def test_a_question_of_an_agent_waits_for_the_view_and_is_told_in_it(tmp_path: Path):
    asks = [
        step(_calls("Workflow", "toolu_wf", script=_SCRIPT.replace(", 'pit'", "")), when="by a workflow"),
        step("The workflow runs.", when="by a workflow"),
        step(_calls("Bash", "toolu_wait", command="./wait"), when="Dig the well."),
        step(_calls("Bash", "toolu_touch", command="touch dug"), when="toolu_wait"),
        step("So be it.", repeat=True),
    ]
    allowed = {"permissions": {"allow": ["Workflow", "Bash(./wait)"]}}
    async with bridle(tmp_path, asks, settings=allowed, size=(110, 30), **_QUICK) as terminal:
        wait = terminal.program.project / "wait"
        wait.write_text("#!/bin/sh\nuntil [ -e well ]; do sleep 0.05; done\n")
        wait.chmod(0o755)
        await _begin(terminal)
        await _watch(terminal)
        _finish(terminal, "well")
        await terminal.until_text("1 question waits for you: close this view")
        terminal.type("q")
        await terminal.until_text("Run a command?")
        await terminal.until_text("to choose")
        terminal.type("1")
        await eventually((terminal.program.project / "dug").exists)
        await terminal.until_text("✓ dig-all: Digs holes · completed")


async def test_the_script_is_read_and_changed_before_it_runs(tmp_path: Path):
    editor = shlex.join(["sed", "-i", "s/dig-all/fill-all/"])
    async with bridle(
        tmp_path,
        _talk("well", "pit"),
        settings={"permissions": {"allow": ["Bash"]}},
        size=(110, 34),
        EDITOR=editor,
        **_QUICK,
    ) as terminal:
        await terminal.ready()
        await terminal.say("by a workflow")
        await terminal.until_text("Run a workflow?")
        await terminal.until_text("to choose")
        assert "Digs holes" in terminal.emulator.text
        terminal.type("4")
        await terminal.until_text("5 const dug = await parallel")
        terminal.type("5")
        await terminal.until_text("fill-all")
        await terminal.until_text("to choose")
        terminal.type("1")
        await terminal.until_text("◐ fill-all")
        _finish(terminal, "well", "pit")
        kept = terminal.program.home.glob(".claude/projects/*/*/workflows/*/script.js")
        assert [path.read_text() for path in kept] == [_SCRIPT.replace("dig-all", "fill-all").rstrip()]


async def test_a_yes_for_a_saved_workflow_is_kept(tmp_path: Path):
    async with bridle(
        tmp_path,
        _talk("well", "pit", name="dig-all"),
        settings={"permissions": {"allow": ["Bash"]}},
        size=(110, 34),
        **_QUICK,
    ) as terminal:
        saved = terminal.program.project / ".claude" / "workflows" / "dig-all.js"
        saved.parent.mkdir(parents=True)
        saved.write_text(_SCRIPT)
        _finish(terminal, "well", "pit")
        await terminal.ready()
        await terminal.say("by a workflow")
        await terminal.until_text("script: .claude/workflows/dig-all.js, 6 lines")
        await terminal.until_text("to choose")
        terminal.type("3")
        local = terminal.program.project / ".claude" / "settings.local.json"
        terminal.type("\r")
        await eventually(local.exists)
        assert "Workflow(dig-all)" in local.read_text()
        await terminal.until_text("The workflow runs.")
