import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import Received, Step, fault, step
from tests.frontends.tui.app.session import Terminal, bridle

_ARMED = "enter to choose"


def _calls(tool: str, **input: object) -> dict[str, object]:
    return {"type": "tool_use", "id": f"toolu_{tool}", "name": tool, "input": input}


async def _leave(terminal: Terminal) -> int:
    await terminal.idle()
    terminal.type("\x03")
    await terminal.until_text("again to exit")
    terminal.type("\x03")
    return await terminal.ended()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 20)])
async def test_a_prompt_is_answered_and_stays_in_the_scrollback(tmp_path: Path, size: tuple[int, int]):
    async with bridle(tmp_path, [step("Hello **there**.\n\n- one\n- two\n")], size=size) as terminal:
        await terminal.ready()
        await terminal.say("say hello")
        await terminal.until_text("• two")
        rows = terminal.emulator.rows
        assert "❯ say hello" in rows and "● Hello there." in rows
        assert all(len(row) <= size[0] for row in rows)
        assert await _leave(terminal) == 0
        assert "❯ say hello" in terminal.emulator.rows
        assert terminal.settings() == terminal.before
        assert "--resume" in terminal.emulator.text


async def test_keys_typed_before_the_program_is_there_are_kept(tmp_path: Path):
    async with bridle(tmp_path, [step("Right.")]) as terminal:
        terminal.type("early bird")
        await terminal.until(lambda screen: "❯ early bird" in screen.text)
        terminal.type("\r")
        await terminal.until_text("Right.")
        assert "early bird" in json.dumps(terminal.asked[0])


async def test_a_prompt_on_the_command_line_is_sent_at_once(tmp_path: Path):
    async with bridle(tmp_path, [step("Sure.")], "do it") as terminal:
        await terminal.until_text("Sure.")
        assert "❯ do it" in terminal.emulator.rows


async def test_a_call_runs_once_it_was_allowed(tmp_path: Path):
    script = [step(_calls("Bash", command="touch made")), step("Done.")]
    async with bridle(tmp_path, script) as terminal:
        await terminal.ready()
        await terminal.say("make it")
        await terminal.until_text("Run a command?")
        await terminal.until_text(_ARMED)
        assert "touch made" in terminal.emulator.text
        terminal.type("\r")
        await terminal.until_text("Done.")
        assert (terminal.program.project / "made").exists()


async def test_a_call_that_is_refused_does_not_run_and_the_model_hears_why(tmp_path: Path):
    script = [step(_calls("Bash", command="touch made")), step("I see.")]
    async with bridle(tmp_path, script) as terminal:
        await terminal.ready()
        await terminal.say("make it")
        await terminal.until_text(_ARMED)
        terminal.type("\x1b[Anot like that\r")
        await terminal.until_text("I see.")
        assert not (terminal.program.project / "made").exists()
        assert "not like that" in json.dumps(terminal.asked[-1])
        assert "⊘" in terminal.emulator.text


async def test_what_is_being_typed_when_a_question_comes_answers_nothing(tmp_path: Path):
    script = [step(_calls("Bash", command="touch made"), delay=0.3), step("Done.")]
    async with bridle(tmp_path, script) as terminal:
        await terminal.ready()
        await terminal.say("make it")
        async with asyncio.timeout(50):
            while "Run a command?" not in terminal.emulator.text:
                terminal.type("y")
                await terminal.until_written(b"y")
                terminal._changed.clear()
                await terminal._changed.wait()
        await terminal.until_text(_ARMED)
        assert not (terminal.program.project / "made").exists()
        terminal.type("\x1b")
        await terminal.until_text("interrupted")
        assert "❯ y" in terminal.emulator.text


async def test_escape_interrupts_a_turn(tmp_path: Path):
    async with bridle(tmp_path, [step("never ", silent_after=-1)]) as terminal:
        await terminal.ready()
        await terminal.say("wait")
        await terminal.until_text("esc to interrupt")
        terminal.type("\x1b")
        await terminal.until_text("interrupted; say what to do instead")
        await terminal.ready()


async def test_ctrl_c_interrupts_clears_and_leaves(tmp_path: Path):
    async with bridle(tmp_path, [step("never ", silent_after=-1)]) as terminal:
        await terminal.ready()
        await terminal.say("wait")
        await terminal.until_text("esc to interrupt")
        terminal.type("\x03")
        await terminal.until_text("interrupted;")
        terminal.type("some draft")
        await terminal.until_text("❯ some draft")
        terminal.type("\x03")
        await terminal.until(lambda screen: "some draft" not in screen.text)
        assert await _leave(terminal) == 0


async def test_prompts_sent_while_busy_wait_and_can_be_taken_back(tmp_path: Path):
    async with bridle(tmp_path, [step("never ", silent_after=-1)]) as terminal:
        await terminal.ready()
        await terminal.say("wait")
        await terminal.until_text("esc to interrupt")
        await terminal.say("second thing")
        await terminal.until_text("⧗ second thing")
        terminal.type("\x1b[A")
        await terminal.until_text("❯ second thing")
        await terminal.until(lambda screen: "⧗" not in screen.text)


async def test_a_prompt_sent_while_busy_reaches_the_model(tmp_path: Path):
    script = [step(_calls("Bash", command="echo hi; sleep 0.5", description="wait")), step("All done.")]
    async with bridle(tmp_path, script, settings={"permissions": {"allow": ["Bash"]}}) as terminal:
        await terminal.ready()
        await terminal.say("begin")
        await terminal.until_text("echo hi")
        await terminal.say("and also this")
        await terminal.until_text("All done.")
        assert "and also this" in json.dumps(terminal.asked[-1])


async def test_shift_tab_goes_through_the_modes(tmp_path: Path):
    async with bridle(tmp_path, settings={"disableAutoMode": "disable"}) as terminal:
        await terminal.ready()
        terminal.type("\x1b[Z")
        await terminal.until_text("accept edits on")
        terminal.type("\x1b[Z")
        await terminal.until_text("plan mode")
        terminal.type("\x1b[Z")
        # A tip above may name the mode; the row of the mode is the last one.
        await terminal.until(lambda screen: "plan mode" not in screen.text.splitlines()[-1])
        assert "bypassed" not in terminal.emulator.text


async def test_a_shell_command_of_the_user_runs_unasked_and_is_told_to_the_model(tmp_path: Path):
    async with bridle(tmp_path, [step("I saw it.")]) as terminal:
        await terminal.ready()
        await terminal.say("!echo from-the-shell > out; cat out")
        await terminal.until_text("I saw it.")
        rows = [row for row in terminal.emulator.rows if "echo from-the-shell" in row]
        assert rows == ["! echo from-the-shell > out; cat out"]
        assert (terminal.program.project / "out").read_text() == "from-the-shell\n"
        sent = json.dumps(terminal.asked[-1])
        assert "<bash-input>echo from-the-shell" in sent
        assert "<bash-stdout>from-the-shell" in sent


async def test_a_denied_shell_command_of_the_user_does_not_run(tmp_path: Path):
    settings = {"permissions": {"deny": ["Bash(touch *)"]}, "respondToBashCommands": False}
    async with bridle(tmp_path, settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("!touch made")
        await terminal.until(lambda screen: "denied" in screen.text)
        assert not (terminal.program.project / "made").exists()


async def test_a_note_is_kept_where_the_user_says(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await terminal.say("# tabs, not spaces")
        await terminal.until_text("Where do you want to save this?")
        assert "All my projects · ~/.claude/CLAUDE.md" in " ".join(terminal.emulator.text.split())
        await terminal.until_text(_ARMED)
        terminal.type("\r")
        await terminal.until_text("saved to CLAUDE.md")
        assert (terminal.program.project / "CLAUDE.md").read_text() == "- tabs, not spaces\n"


async def test_files_are_completed_behind_an_at_sign(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        (terminal.program.project / "notes.txt").write_text("x")
        await terminal.ready()
        terminal.type("read @no")
        await terminal.until_text("› notes.txt")
        terminal.type("\t")
        await terminal.until_text("❯ read @notes.txt")


async def test_commands_are_completed_and_unknown_ones_are_told(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        terminal.type("/hel")
        await terminal.until_text("› /help")
        terminal.type("\x1b")
        await terminal.until(lambda screen: "› /help" not in screen.text)
        terminal.type("px\r")
        await terminal.until_text("Unknown command /helpx: did you mean /help?")


async def test_the_past_is_browsed_and_searched(tmp_path: Path):
    async with bridle(tmp_path, [step("One."), step("Two.")]) as terminal:
        await terminal.ready()
        await terminal.say("first prompt")
        await terminal.until_text("One.")
        await terminal.say("second prompt")
        await terminal.until_text("Two.")
        terminal.type("\x1b[A\x1b[A")
        await terminal.until(lambda screen: screen.text.count("❯ first prompt") == 2)
        terminal.type("\x1b[B\x1b[B\x12sec")
        await terminal.until_text("search this project: sec")
        terminal.type("\t")
        await terminal.until(lambda screen: screen.text.count("❯ second prompt") == 2)


async def test_a_megabyte_is_pasted_as_one_piece(tmp_path: Path):
    async with bridle(tmp_path, [step("Long.")]) as terminal:
        await terminal.ready()
        terminal.type(b"\x1b[200~" + b"line of text\n" * 70_000 + b"\x1b[201~")
        await terminal.until_text("[Pasted text #1 +70000 lines]")
        terminal.type("\r")
        await terminal.until_text("Long.")
        assert json.dumps(terminal.asked[-1]).count("line of text") == 70_000


async def test_a_fault_of_the_model_is_told_in_one_line(tmp_path: Path):
    refused = fault(401, "authentication_error", "invalid x-api-key", repeat=True)
    async with bridle(tmp_path, [refused]) as terminal:
        await terminal.ready()
        await terminal.say("hello")
        await terminal.until_text("did not accept the key (401)")
        await terminal.ready()


async def test_the_folder_is_trusted_before_anything_runs(tmp_path: Path):
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}
    async with bridle(tmp_path, [step("Hi.")], trusted=False, project_settings=hook) as terminal:
        await terminal.until_text("Do you trust this folder?")
        await terminal.until_text("hooks")
        await terminal.until_text(_ARMED)
        assert not (terminal.program.project / "ran").exists()
        terminal.type("1")
        await terminal.ready()
        assert (terminal.program.project / "ran").exists()


async def test_a_folder_that_is_not_trusted_is_left(tmp_path: Path):
    async with bridle(tmp_path, trusted=False) as terminal:
        await terminal.until_text(_ARMED)
        assert "bridle will be able to read, edit and run files here." in terminal.emulator.text
        terminal.type("\x1b")
        assert await terminal.ended() == 1
        assert terminal.settings() == terminal.before


async def test_resizing_in_the_middle_of_an_answer_leaves_a_whole_screen(tmp_path: Path):
    text = "\n\n".join(f"Paragraph {number} with some words in it." for number in range(40))
    async with bridle(tmp_path, [step(text, piece=30, write=200, pause=0.01)]) as terminal:
        await terminal.ready()
        await terminal.say("write")
        await terminal.until(lambda screen: any("Paragraph 3 " in row for row in screen.everything))
        for columns in (60, 30, 100, 5, 80):
            terminal.resize(columns, 24 if columns != 5 else 3)
        await terminal.until_text("Paragraph 39")
        await terminal.ready()
        assert terminal.emulator.rows[-1].startswith("sonnet") or "? for keys" in terminal.emulator.text


async def test_a_window_of_a_few_cells_can_be_typed_into(tmp_path: Path):
    async with bridle(tmp_path, [step("ok")], size=(10, 4)) as terminal:
        await terminal.until_text("❯")
        terminal.type("hi\r")
        await terminal.until(lambda screen: any("ok" in row for row in screen.everything))
        assert await _leave_blindly(terminal) == 0


async def _leave_blindly(terminal: Terminal) -> int:
    terminal.type("\x04")
    await terminal.until(lambda screen: "leave" in screen.text or "again" in screen.text or True)
    terminal.type("\x04")
    return await terminal.ended()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_to_end_leaves_the_terminal_in_order(tmp_path: Path, number: int):
    async with bridle(tmp_path, [step("never ", silent_after=-1)]) as terminal:
        await terminal.ready()
        await terminal.say("wait")
        await terminal.until_text("esc to interrupt")
        terminal.process.send_signal(number)
        assert await terminal.ended() == 128 + number
        assert terminal.settings() == terminal.before


async def test_the_program_ends_when_its_terminal_is_gone(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        terminal.hang_up()
        assert await terminal.ended() == 129


async def test_invalid_input_bytes_do_no_harm(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        terminal.type(b"a\xff\xfe\xc3b")
        await terminal.until_text("❯ a\ufffd")
        assert await _leave_after_clearing(terminal) == 0


async def _leave_after_clearing(terminal: Terminal) -> int:
    terminal.type("\x03")
    await terminal.ready()
    return await _leave(terminal)


async def test_everything_is_said_in_lines_to_a_screen_reader(tmp_path: Path):
    script = [step(_calls("Bash", command="touch made")), step("Done and done.")]
    async with bridle(tmp_path, script, CLAUDE_AX_SCREEN_READER="1") as terminal:
        await terminal.until_text("? for keys")
        terminal.type("make it\r")
        await terminal.until_text("1. Yes")
        await terminal.until_text(_ARMED)
        terminal.type("1")
        await terminal.until_text("Done and done.")
        assert b"\x1b[A" not in terminal.output and b"\x1b[2K" not in terminal.output
        assert (terminal.program.project / "made").exists()


async def test_no_color_is_written_where_none_is_wanted(tmp_path: Path):
    async with bridle(tmp_path, [step("**Bold** `code`")], NO_COLOR="1") as terminal:
        await terminal.ready()
        await terminal.say("colors?")
        await terminal.until_text("Bold")
        assert b"\x1b[38" not in terminal.output and b";38;" not in terminal.output


async def test_a_status_line_command_stands_below_the_input(tmp_path: Path):
    command = "python3 -c \"import json,sys; d=json.load(sys.stdin); print('at', d['model']['id'])\""
    settings = {"statusLine": {"type": "command", "command": command}}
    async with bridle(tmp_path, settings=settings) as terminal:
        await terminal.until_text("at claude-")


async def test_a_conversation_goes_on_with_continue(tmp_path: Path):
    async with bridle(tmp_path, [step("The word is plover.")]) as terminal:
        await terminal.ready()
        await terminal.say("remember a word")
        await terminal.until_text("plover")
        assert await _leave(terminal) == 0
    async with bridle(tmp_path, [step("It was plover.")], "--continue") as terminal:
        await terminal.until_text("The word is plover.")
        await terminal.say("which word?")
        await terminal.until_text("It was plover.")
        assert "remember a word" in json.dumps(terminal.asked[-1])


async def test_keys_can_be_changed_by_a_file(tmp_path: Path):
    bindings = {"bindings": [{"context": "Chat", "bindings": {"f2": "chat:cycleMode"}}]}
    config = tmp_path / "home" / ".claude"
    config.mkdir(parents=True)
    (config / "keybindings.json").write_text(json.dumps(bindings))
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        terminal.type("\x1bOQ")
        await terminal.until_text("accept edits on")


async def test_vim_keys_edit_the_prompt(tmp_path: Path):
    async with bridle(tmp_path, settings={"editorMode": "vim"}) as terminal:
        await terminal.until_text("-- INSERT --")
        terminal.type("one two")
        await terminal.until_text("❯ one two")
        terminal.type("\x1b")
        await terminal.until_text("-- NORMAL --")
        terminal.type("bdw")
        await terminal.until(lambda screen: "❮ one" in screen.text and "two" not in screen.text)


async def test_two_keys_of_the_settings_leave_the_insert_mode_of_vim(tmp_path: Path):
    settings = {"editorMode": "vim", "vimInsertModeRemaps": {"jj": "<Esc>"}}
    async with bridle(tmp_path, settings=settings) as terminal:
        await terminal.until_text("-- INSERT --")
        terminal.type("onejj")
        await terminal.until(lambda screen: "-- NORMAL --" in screen.text and "onej" not in screen.text)


async def test_the_keys_are_shown_on_demand(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        terminal.type("?")
        await terminal.until_text("search history")
        terminal.type("?")
        await terminal.ready()


async def test_the_transcript_opens_and_closes(tmp_path: Path):
    async with bridle(tmp_path, [step("Something worth reading.")]) as terminal:
        await terminal.ready()
        await terminal.say("tell me")
        await terminal.until_text("Something worth reading.")
        terminal.type("\x0f")
        await terminal.until(lambda screen: screen.is_alternate and "worth reading" in screen.text)
        terminal.type("q")
        await terminal.until(lambda screen: not screen.is_alternate)


async def test_the_transcript_and_a_resumed_conversation_show_calls_as_they_looked(tmp_path: Path):
    session = "00000000-0000-4000-8000-000000000022"
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("x = 1\ny = 2\n")
    calls: list[dict[str, Any]] = [
        {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.py"}},
        {
            "type": "tool_use",
            "id": "c2",
            "name": "Edit",
            "input": {"file_path": "a.py", "old_string": "y = 2", "new_string": "y = 3"},
        },
    ]
    flags = ("--session-id", session, "--permission-mode", "acceptEdits")
    async with bridle(tmp_path, [step(calls[0]), step(calls[1]), step("Edited.")], *flags) as terminal:
        await terminal.ready()
        await terminal.say("edit it")
        await terminal.until_text("Edited.")
        terminal.type("\x0f")
        await terminal.until(lambda screen: screen.is_alternate and "2 + y = 3" in screen.text)
        assert "It now reads" not in terminal.emulator.text
        terminal.type("q")
        await terminal.until(lambda screen: not screen.is_alternate)
    async with bridle(tmp_path, (), "--resume", session) as terminal:
        await terminal.until_text("Edited.")
        assert "2 + y = 3" in terminal.emulator.text and "2 - y = 2" in terminal.emulator.text


async def test_a_conversation_that_cannot_be_compacted_says_so_once(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await terminal.say("/compact")
        await terminal.until_text("✗ Could not compact the conversation: there is nothing to compact yet.")
        assert terminal.emulator.text.count("nothing to compact") == 1


async def test_a_prompt_that_does_not_fit_says_how_long_it_is(tmp_path: Path):
    async with bridle(tmp_path, size=(100, 30)) as terminal:
        await terminal.ready()
        terminal.type(b"\x1b[200~" + b"word after word\n" * 400_000 + b"\x1b[201~")
        await terminal.until_text("[Pasted text #1")
        terminal.type("\r")
        await terminal.until_text("The prompt is too long")
        text = " ".join(terminal.emulator.text.split())
        assert "Save the text to a file and mention the file with @." in text
        assert "compact" not in text


async def test_the_terminal_is_told_what_goes_on(tmp_path: Path):
    async with bridle(tmp_path, [step("Hi.")]) as terminal:
        await terminal.ready()
        terminal.type("\x1b[O")
        await terminal.say("greet me")
        await terminal.until_text("Hi.")
        await terminal.idle()
        assert b"\x1b]0;greet me" in terminal.output
        assert b"\x1b]9;4;3;" in terminal.output and b"\x1b]9;4;0;" in terminal.output


async def test_print_mode_is_as_it_was(tmp_path: Path):
    async with bridle(tmp_path, [step("Printed.")], "-p", "say it") as terminal:
        assert await terminal.ended() == 0
        assert terminal.emulator.text == "Printed."


async def test_resume_lets_the_user_choose_a_conversation(tmp_path: Path):
    async with bridle(tmp_path, [step("The word is plover.")]) as terminal:
        await terminal.ready()
        await terminal.say("remember a word")
        await terminal.until_text("plover")
        assert await _leave(terminal) == 0
    async with bridle(tmp_path, [step("It was plover.")], "--resume") as terminal:
        await terminal.until(lambda screen: screen.is_alternate and "remember a word" in screen.text)
        terminal.type("\r")
        await terminal.until_text("The word is plover.")
        await terminal.ready()


async def test_a_conversation_of_another_folder_is_handed_over_with_its_command(tmp_path: Path):
    async with bridle(tmp_path, [step("The word is plover.")]) as terminal:
        await terminal.ready()
        await terminal.say("remember a word")
        await terminal.until_text("plover")
        assert await _leave(terminal) == 0
    (transcript,) = tmp_path.rglob("projects/*/*.jsonl")
    row = next(json.loads(line) for line in transcript.read_text().splitlines() if '"cwd"' in line)
    other = "11111111-2222-4333-8444-555555555555"
    there = transcript.parent.parent / "-srv-other" / f"{other}.jsonl"
    there.parent.mkdir()
    text = transcript.read_text().replace(row["cwd"], "/srv/other").replace("a word", "a number")
    there.write_text(text.replace(transcript.stem, other))
    async with bridle(tmp_path, [], "--resume") as terminal:
        await terminal.until(lambda screen: screen.is_alternate and "remember a word" in screen.text)
        terminal.type("\x01")
        await terminal.until_text("remember a number")
        terminal.type("number\r")
        assert await terminal.ended() == 0
        assert f"cd /srv/other && bridle --resume {other}" in terminal.emulator.text


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/help", "help"),
        ("/context", "system tools"),
        ("/permissions", "allow"),
        ("/theme", "dark"),
        ("/model", "sonnet"),
    ],
)
async def test_a_command_opens_its_view(tmp_path: Path, command: str, shown: str):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await terminal.say(command)
        await terminal.until(lambda screen: shown in screen.text.lower() and screen.text.count("❯ ask") == 0)
        terminal.type("\x1b")
        await terminal.until_text("❯ ask for anything")


async def test_clear_begins_a_new_conversation(tmp_path: Path):
    async with bridle(tmp_path, [step("First."), step("Second.")]) as terminal:
        await terminal.ready()
        await terminal.say("one")
        await terminal.until_text("First.")
        await terminal.say("/clear")
        await terminal.until_text("a new conversation")
        await terminal.say("two")
        await terminal.until_text("Second.")
        assert "First." not in json.dumps(terminal.asked[-1])


async def test_exit_leaves(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await terminal.say("/exit")
        assert await terminal.ended() == 0


async def test_a_suggested_prompt_is_taken_with_tab(tmp_path: Path):
    script = [step("All 3 tests fail."), step("fix the tests", repeat=True)]
    async with bridle(tmp_path, script, CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION="1") as terminal:
        await terminal.ready()
        await terminal.say("run the tests")
        await terminal.until_text("❯ fix the tests")
        terminal.type("\t!")
        await terminal.until_text("❯ fix the tests!")


async def test_a_suggested_prompt_is_sent_with_enter_and_answered_from_what_was_made_ahead(tmp_path: Path):
    def answer(request: Received) -> Step:
        asked = request.body
        if "2 to 12 words" in json.dumps(asked["system"]):
            return step("NONE" if "All fixed." in json.dumps(asked["messages"]) else "fix the tests")
        return step("All fixed." if "fix the tests" in json.dumps(asked["messages"]) else "They fail.")

    settings = {"bridleSpeculation": True}
    script = [answer] * 9
    async with bridle(
        tmp_path, script, settings=settings, CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION="1"
    ) as terminal:
        await terminal.ready()
        await terminal.say("run the tests")
        await terminal.until_text("❯ fix the tests")
        terminal.type("\r")
        await terminal.until_text("All fixed.")
        made = [body for body in terminal.asked if len(body["messages"]) == 3]
        assert len(made) == 1 and made[0]["messages"][-1]["content"][0]["text"] == "fix the tests"
