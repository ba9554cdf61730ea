"""Settings of the interface, seen on a real screen."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import bridle


async def test_own_tips_and_verbs_stand_below_a_running_turn(tmp_path: Path):
    settings = {
        "spinnerVerbs": {"verbs": ["Brewing"], "mode": "replace"},
        "spinnerTipsOverride": {"tips": ["Read the \x1b[31mcontributing\n guide."]},
    }
    async with bridle(tmp_path, [step("Hi.", delay=30)], settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("hello")
        await terminal.until_text("Brewing…")
        await terminal.until_text("Tip: Read the")
        assert "\x1b[31mcontributing" not in terminal.output.decode(errors="replace")


async def test_a_status_line_that_shows_the_mode_of_vim_itself_hides_the_other(tmp_path: Path):
    status = {"type": "command", "command": "echo own line"}
    for hides in (False, True):
        folder = tmp_path / str(hides)
        folder.mkdir()
        settings = {"editorMode": "vim", "statusLine": {**status, "hideVimModeIndicator": hides}}
        async with bridle(folder, settings=settings) as terminal:
            await terminal.until_text("own line")
            await terminal.ready()
            assert ("-- INSERT --" in terminal.emulator.text) is not hides


async def test_the_title_stays_when_a_session_is_named_if_the_user_wants_that(tmp_path: Path):
    settings = {"terminalTitleFromRename": False}
    async with bridle(tmp_path, [step("Hi.")], settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("fix the login")
        await terminal.until_written(b"\x1b]0;fix the login")
        await terminal.say("/rename somewhere else")
        await terminal.until_text("somewhere else")
        await terminal.ready()
        assert b"\x1b]0;somewhere else" not in terminal.output


async def test_powershell_gets_shell_commands_where_it_is_the_default(tmp_path: Path):
    tools = tmp_path / "tools"
    tools.mkdir()
    program = tools / "pwsh"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    program.chmod(0o755)
    settings = {"defaultShell": "powershell", "respondToBashCommands": False}
    async with bridle(tmp_path, settings=settings, PATH=f"{tools}:/usr/bin:/bin") as terminal:
        await terminal.ready()
        await terminal.say("!Get-Item 'a b'")
        await terminal.until_text("-NoProfile|-NonInteractive|-Command|Get-Item 'a b'|")


async def test_a_missing_powershell_is_named(tmp_path: Path):
    settings = {"defaultShell": "powershell"}
    async with bridle(tmp_path, settings=settings, PATH="/usr/bin:/bin") as terminal:
        await terminal.ready()
        await terminal.say("!Get-Item")
        await terminal.until_text("PowerShell was not found.")


async def test_a_command_of_the_user_suggests_files(tmp_path: Path):
    said = tmp_path / "said"
    command = f'cat > {said}; printf "kept/by-command.txt\\nbad\\033[31mname\\n"'
    settings = {"fileSuggestion": {"type": "command", "command": command}}
    async with bridle(tmp_path, settings=settings) as terminal:
        await terminal.ready()
        terminal.type("look at @ke")
        await terminal.until_text("kept/by-command.txt")
        assert "name" not in terminal.emulator.text
        await terminal.until(lambda _: json.loads(said.read_text() or "{}") == {"query": "ke"})
        terminal.type("\t")
        await terminal.until_text("look at @kept/by-command.txt")


async def test_a_command_of_the_user_suggests_nothing_where_hooks_are_off(tmp_path: Path):
    settings = {
        "disableAllHooks": True,
        "fileSuggestion": {"type": "command", "command": f"touch {tmp_path / 'ran'}; echo from-command"},
    }
    async with bridle(tmp_path, settings=settings) as terminal:
        (terminal.program.project / "from-index.txt").touch()
        await terminal.ready()
        terminal.type("@from")
        await terminal.until_text("from-index.txt")
        assert not (tmp_path / "ran").exists()


_QUESTION = {
    "question": "Which colour?",
    "header": "Color",
    "multiSelect": True,
    "options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}],
}


def _asks() -> list[Any]:
    call = {
        "type": "tool_use",
        "id": "call_1",
        "name": "AskUserQuestion",
        "input": {"questions": [_QUESTION]},
    }
    return [step(call), step("On with it.")]


async def test_a_question_that_no_one_answers_is_counted_down_and_left(tmp_path: Path):
    settings = {"askUserQuestionTimeout": "10m"}
    async with bridle(tmp_path, _asks(), settings=settings, CLAUDE_AFK_TIMEOUT_MS="3000") as terminal:
        await terminal.ready()
        await terminal.say("paint it")
        await terminal.until_text("Which colour?")
        await terminal.until_text("until bridle continues without an answer")
        await terminal.until_text("On with it.")
        assert "decide yourself" in json.dumps(terminal.asked[-1])


async def test_what_is_ticked_is_sent_when_the_time_is_over(tmp_path: Path):
    async with bridle(
        tmp_path, _asks(), CLAUDE_AFK_TIMEOUT_MS="4000", CLAUDE_AFK_COUNTDOWN_MS="1000"
    ) as terminal:
        await terminal.ready()
        await terminal.say("paint it")
        await terminal.until_text("to select")
        terminal.type(" ")
        await terminal.until_text("On with it.")
        assert "→ red" in terminal.asked[-1]["messages"][-1]["content"][0]["content"]


async def test_summaries_of_the_thinking_are_asked_for_and_shown(tmp_path: Path):
    thought = {"type": "thinking", "thinking": "First the roof.\nThen the walls.", "signature": "s"}
    for shown in (False, True):
        folder = tmp_path / str(shown)
        folder.mkdir()
        settings = {"showThinkingSummaries": shown}
        async with bridle(folder, [step(thought, "Built.")], settings=settings) as terminal:
            await terminal.ready()
            await terminal.say("build it")
            await terminal.until_text("Built.")
            assert ("Then the walls." in terminal.emulator.text) is shown
            assert (terminal.asked[0]["thinking"].get("display") == "summarized") is shown


async def test_names_of_emoji_are_completed_and_replaced(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        terminal.type("done :tad")
        await terminal.until_text("🎉 :tada:")
        terminal.type("\t")
        await terminal.until_text("done 🎉")
        terminal.type("and :rocket:")
        await terminal.until_text("🚀")
        terminal.type(" at 12:30:15 in a:b:c")
        await terminal.until_text("12:30:15 in a:b:c")


async def test_names_of_emoji_stay_where_that_is_turned_off(tmp_path: Path):
    async with bridle(tmp_path, settings={"emojiCompletionEnabled": False}) as terminal:
        await terminal.ready()
        terminal.type("go :rocket: now")
        await terminal.until_text("go :rocket: now")
        assert "🚀" not in terminal.emulator.text


_LONG = "\n\n".join(f"paragraph {number}" for number in range(40))
_WHEEL_UP, _WHEEL_DOWN = "\x1b[<64;5;5M", "\x1b[<65;5;5M"


async def test_the_wheel_scrolls_a_window_of_its_own(tmp_path: Path):
    settings = {"tui": "fullscreen", "wheelScrollAccelerationEnabled": False}
    async with bridle(tmp_path, [step(_LONG)], settings=settings, CLAUDE_CODE_SCROLL_SPEED="5") as terminal:
        await terminal.ready()
        await terminal.say("tell me")
        await terminal.until_text("paragraph 39")
        await terminal.until_written(b"\x1b[?1006h")
        terminal.type(_WHEEL_UP * 3)
        await terminal.until_text("↓ 15 rows below")
        terminal.type(_WHEEL_DOWN)
        await terminal.until_text("↓ 10 rows below")
        terminal.type("x")
        await terminal.until(lambda screen: "rows below" not in screen.text)


async def test_the_mouse_can_be_left_alone(tmp_path: Path):
    settings = {"tui": "fullscreen"}
    async with bridle(tmp_path, [step("Hi.")], settings=settings, CLAUDE_CODE_DISABLE_MOUSE="1") as terminal:
        await terminal.ready()
        await terminal.say("hello")
        await terminal.until_text("Hi.")
        assert b"\x1b[?1000h" not in terminal.output


async def test_new_output_moves_nothing_where_it_is_not_followed(tmp_path: Path):
    settings = {"tui": "fullscreen", "autoScrollEnabled": False}
    async with bridle(tmp_path, [step(_LONG)], settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("tell me")
        await terminal.until_text("rows below")
        assert "paragraph 39" not in terminal.emulator.text
        terminal.type("x")
        await terminal.until_text("paragraph 39")


async def test_links_stand_below_the_prompt_for_what_the_conversation_mentions(tmp_path: Path):
    rules = [
        {
            "type": "regex",
            "pattern": r"\b(?<key>PROJ-\d+)\b",
            "url": "https://issues.example/{key}",
            "label": "{key}",
        },
        {"type": "regex", "pattern": "(?<host>evil.example)", "url": "https://{host}/x"},
        {"type": "regex", "pattern": "(", "url": "https://a.example/"},
        {"type": "regex", "pattern": "see (?<path>\\S+)", "url": "https://files.example/{path}"},
    ]
    said = "Fixed PROJ-12, as evil.example said; see ../../x?y#z"
    async with bridle(tmp_path, [step(said)], settings={"footerLinksRegexes": rules}) as terminal:
        await terminal.ready()
        await terminal.until_text("must start with a complete address")
        await terminal.until_text("is not a valid pattern")
        await terminal.say("what now?")
        await terminal.until(lambda screen: "PROJ-12" in "\n".join(screen.text.splitlines()[-2:]))
        await terminal.until_written(b"\x1b]8;;https://issues.example/PROJ-12\x1b\\")
        await terminal.until_written(b"\x1b]8;;https://files.example/..%2F..%2Fx%3Fy%23z\x1b\\")
        assert b"\x1b]8;;https://evil.example" not in terminal.output


_CHECKER = """#!/usr/bin/python3
import sys
print("@(#) International Ispell Version 3.1.20 (but really a test)", flush=True)
print(sys.argv[1:], file=open(sys.argv[0] + ".said", "w"), flush=True)
for line in sys.stdin:
    for word in line[1:].split():
        if word not in ("fix", "the", "login"):
            print(f"& {word} 1 0: {word}")
    print(flush=True)
"""


def _checker(tmp_path: Path, name: str) -> str:
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    (tools / name).write_text(_CHECKER)
    (tools / name).chmod(0o755)
    return f"{tools}:/usr/bin:/bin"


def _is_underlined(screen: Any, word: str) -> bool:
    for y, row in enumerate(screen.text.splitlines()):
        if (x := row.find(word)) >= 0:
            return bool(screen.screen.buffer[y][x].underscore)
    return False


async def test_words_that_the_checker_does_not_know_are_underlined(tmp_path: Path):
    path = _checker(tmp_path, "hunspell")
    settings = {"spellcheck": {"enabled": True, "language": "en_GB", "color": "#ff0000"}}
    async with bridle(tmp_path, settings=settings, PATH=path) as terminal:
        await terminal.ready()
        terminal.type("fix the lgoin `codd` a/pathh nwo")
        await terminal.until(lambda screen: _is_underlined(screen, "lgoin"))
        assert not any(_is_underlined(terminal.emulator, word) for word in ("fix", "codd", "pathh", "nwo"))
        terminal.type(" ")
        await terminal.until(lambda screen: _is_underlined(screen, "nwo"))
        assert "'-d', 'en_GB'" in (tmp_path / "tools" / "hunspell.said").read_text()


async def test_a_missing_checker_is_named_once(tmp_path: Path):
    settings = {"spellcheck": {"enabled": True, "checker": "ispell"}}
    async with bridle(tmp_path, settings=settings, PATH="/nowhere:/usr/bin:/bin") as terminal:
        await terminal.ready()
        await terminal.until_text("spellcheck: ispell cannot be found")


async def test_the_focus_view_shows_prompts_and_answers_alone(tmp_path: Path):
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "echo made-by-bash"}}
    script = [step("Looking.", call), step("There."), step("Again.", {**call, "id": "c2"}), step("Over.")]
    settings = {"viewMode": "focus", "permissions": {"allow": ["Bash(echo *)"]}}
    async with bridle(tmp_path, script, settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("look")
        await terminal.until_text("There.")
        assert "Looking." in terminal.emulator.text and "made-by-bash" not in terminal.emulator.text
        await terminal.say("/focus")
        await terminal.until_text("Focus view is off.")
        await terminal.say("once more")
        await terminal.until_text("Over.")
        assert "made-by-bash" in terminal.emulator.text


async def test_the_editor_shows_the_last_answer_and_only_what_is_below_is_taken(tmp_path: Path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ncp "$1" "$0.seen"; printf "and more" >> "$1"\n')
    editor.chmod(0o755)
    async with bridle(tmp_path, [step("First line.\nSecond line.")], EDITOR=str(editor)) as terminal:
        state = Path(terminal.program.env["CLAUDE_CONFIG_DIR"]) / ".claude.json"
        await terminal.ready()
        await terminal.say("hello")
        await terminal.until_text("Second line.")
        known = json.loads(state.read_text()) if state.exists() else {}
        state.write_text(json.dumps({**known, "externalEditorContext": True}))
        terminal.type("my words ")
        await terminal.until_text("my words")
        terminal.type("\x07")
        await terminal.until_text("my words and more")
        assert "# Second line." in (tmp_path / "editor.seen").read_text()
        assert "for reference" not in terminal.emulator.text


async def test_the_key_for_reasons_can_be_turned_off(tmp_path: Path):
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "touch made"}}
    async with bridle(tmp_path, [step(call)]) as terminal:
        state = Path(terminal.program.env["CLAUDE_CONFIG_DIR"]) / ".claude.json"
        state.write_text('{"permissionExplainerEnabled": false}')
        await terminal.ready()
        await terminal.say("make it")
        await terminal.until_text("enter to choose")
        assert "why" not in terminal.emulator.text
        terminal.type("\x05")
        await terminal.until_text("Run a command?")
        assert "kind of reason" not in terminal.emulator.text
