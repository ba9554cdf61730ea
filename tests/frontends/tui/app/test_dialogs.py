from typing import Any

import pytest

from bridle.config.trust import TrustItem
from bridle.engine.texts import CALL_REFUSED
from bridle.frontends.tui.dialogs import consent
from bridle.frontends.tui.dialogs.call_preview import CallPreview
from bridle.frontends.tui.dialogs.confirm import Picked
from bridle.frontends.tui.dialogs.elicitation import FormDialog, open_page
from bridle.frontends.tui.dialogs.permission import EditOutside, PermissionDialog
from bridle.frontends.tui.dialogs.plan import PlanDialog
from bridle.frontends.tui.dialogs.questions import QuestionsDialog
from bridle.frontends.tui.keymap.keymap import USUAL, KeyState, default_keymap
from bridle.frontends.tui.screen.view import View
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import text_of
from bridle.frontends.tui.terminal.keys import Key, KeyReader
from bridle.types.permission import PartDecision
from bridle.types.question import (
    ChoiceQuestion,
    Chosen,
    ElicitationQuestion,
    NetworkQuestion,
    PermissionQuestion,
    Permitted,
    Refused,
    Supplied,
)
from tests.frontends.tui.app.dialogs import RULE, bash, every_dialog

_SIZES = ((80, 24), (120, 40), (40, 20), (12, 8))


def _press(view: View[Any], keys: str | bytes) -> Any:
    """Type keys as a terminal sends them; what the view closed with, or None."""
    state = KeyState(default_keymap())
    reader = KeyReader()
    data = keys.encode() if isinstance(keys, str) else keys
    for given in (*reader.feed(data), *reader.flush()):
        assert isinstance(given, Key)
        action = state.press(given, view.contexts)
        closed = view.press(given, action if isinstance(action, str) else None)
        if closed is not None:
            return closed.value
    return None


def _shown(view: View[Any], width: int = 80, height: int = 24) -> str:
    return "\n".join(text_of(row).rstrip() for row in view.render(width, height, USUAL).lines)


@pytest.mark.parametrize("size", _SIZES)
def test_every_dialog_fits_every_window(size: tuple[int, int]):
    width, height = size
    for name, dialog in every_dialog():
        frame = dialog.render(width, height, USUAL)
        assert all(cells.line_width(row) <= width for row in frame.lines), name
        if frame.cursor is not None:
            assert frame.cursor[0] < len(frame.lines), name


def test_a_permission_prompt_shows_what_would_run_and_every_choice():
    parts = (
        PartDecision("rm -rf build", "ask", "it removes files"),
        PartDecision("npm test", "allow", "rule"),
    )
    dialog = bash("rm -rf build && npm test", suggestions=(RULE,), parts=parts)
    assert _shown(dialog) == "\n".join([
        "─ Run a command? " + "─" * 63,
        "rm -rf build && npm test",
        "no rule covers this",
        "",
        "❯ 1. Yes",
        "  2. Yes, and allow Bash(npm test:*) this session",
        "  3. Yes, and always allow: Bash(npm test:*)",
        "  4. Edit the command…",
        "  5. No, and tell bridle what to do instead",
        "",
        "enter to choose · esc for no · ctrl+e why",
    ])  # fmt: skip


def test_the_doubtful_part_of_a_command_is_marked():
    dialog = bash("ls; rm x", parts=(PartDecision("rm x", "ask", "it removes files"),))
    row = dialog.render(80, 24).lines[1]
    marked = [span.text for span in row if span.style.color == "warning"]
    assert marked == ["rm x"]


def test_hidden_characters_in_a_command_are_shown():
    assert "\u200b" not in _shown(bash("ls \u200b; rm x"))
    assert "<U+200B>" in _shown(bash("ls \u200b; rm x"))
    assert "\x1b" not in _shown(bash("echo \x1b[2J"))
    assert "␛" in _shown(bash("echo \x1b[2J"))


def test_a_call_is_allowed_once():
    assert _press(bash("ls"), "\r") == Permitted()
    assert _press(bash("ls"), "y") == Permitted()
    assert _press(bash("ls"), "1") == Permitted()


def test_a_call_is_allowed_for_the_session():
    assert _press(bash("npm test", suggestions=(RULE,)), "2") == Permitted(
        updates=({**RULE, "destination": "session"},)
    )


def test_a_rule_is_kept_where_the_user_says_and_as_they_write_it():
    dialog = bash("npm test", suggestions=(RULE,))
    assert _press(dialog, "3\t") is None
    assert "save to .claude/settings.json (shared with the project) · tab: change location" in _shown(dialog)
    answer = _press(dialog, b"\x01" + b"\x0b" + b"Bash(npm *)\r")
    assert answer == Permitted(
        updates=(
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "npm *"}],
                "behavior": "allow",
                "destination": "projectSettings",
            },
        )
    )


def test_a_rule_that_cannot_be_read_is_not_kept():
    dialog = bash("npm test", suggestions=(RULE,))
    assert _press(dialog, b"3\x01\x0b" + b"Bash(\r") is None
    assert "can't save this rule" in _shown(dialog)


def test_a_call_is_refused_with_and_without_a_reason():
    assert _press(bash("ls"), b"\x1b") == Refused(message=CALL_REFUSED, interrupt=True, stands=True)
    assert _press(bash("ls"), "n") == Refused(message=CALL_REFUSED, interrupt=True, stands=True)
    refused = _press(bash("ls"), "3use find\r")
    assert isinstance(refused, Refused)
    assert "use find" in refused.message and not refused.interrupt


def test_the_command_can_be_changed_before_it_runs():
    assert _press(bash("ls"), "2 -l\r") == Permitted(input={"command": "ls -l"}, edited=True)
    assert _press(bash("ls"), b"\x07") == EditOutside()


@pytest.mark.parametrize(
    "keys", ["2\r", "2\r\r", "2 \r", "\x1b[B\r", "\x1b[B\r\r", "\x1b[B\r\r\r ", "2\x15\r"]
)
def test_editing_never_runs_the_command_as_it_was(keys: str):
    dialog = bash("git push --force")
    assert _press(dialog, keys) is None
    assert "Edit the command" in _shown(dialog)


def test_an_unchanged_command_says_how_to_run_it():
    dialog = bash("git push --force")
    assert _press(dialog, "\x1b[B") is None
    assert "enter to edit" in _shown(dialog) and "Edit the command: " not in _shown(dialog)
    assert _press(dialog, "\r") is None
    assert "Edit the command: git push --force" in _shown(dialog)
    assert _press(dialog, "\r") is None
    assert "edit the command first, or choose 1" in _shown(dialog)


@pytest.mark.parametrize("letter", "y1n")
def test_a_letter_on_the_choice_to_edit_belongs_to_the_command(letter: str):
    dialog = bash("git push")
    assert _press(dialog, f"\x1b[B{letter}") is None
    assert _press(dialog, "\r") == Permitted(input={"command": f"git push{letter}"}, edited=True)


def test_each_choice_grants_one_thing():
    folder = {"type": "addDirectories", "directories": ["/data"], "destination": "session"}
    edits = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    kept = {**RULE, "rules": [*RULE["rules"], {"toolName": "Edit", "ruleContent": "//data/log"}]}
    dialog = bash("npm test > /data/log", suggestions=(RULE, folder, edits), lasting=(kept,))
    assert [row for row in _shown(dialog).splitlines() if "Yes, and" in row] == [
        "  2. Yes, and work in /data this session",
        "  3. Yes, and accept all edits this session",
        "  4. Yes, and allow Bash(npm test:*) this session",
        "  5. Yes, and always allow: Bash(npm test:*), Edit(//data/log)",
    ]
    for key, update in (("2", folder), ("3", edits), ("4", {**RULE, "destination": "session"})):
        assert _press(bash("x", suggestions=(RULE, folder, edits)), key) == Permitted(updates=(update,))
    assert _press(dialog, "5\r") == Permitted(updates=(kept,))


def test_read_only_uses_of_a_program_are_offered_together():
    rule = {**RULE, "rules": [{"toolName": "Bash", "ruleContent": "gh:read-only"}]}
    dialog = bash("gh pr list", suggestions=(rule,))
    shown = _shown(dialog)
    assert "2. Yes, and allow read-only gh commands this session" in shown
    assert "3. Yes, and don't ask again for read-only gh commands" in shown
    assert _press(dialog, "3") == Permitted(updates=(rule,))


def test_nothing_is_always_allowed_that_rules_alone_cannot_allow():
    edits = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    assert "always" not in _shown(bash("npm test > log", suggestions=(RULE, edits)))


def test_the_rule_for_a_one_liner_is_readable():
    content = "python3 -c \"print('x'\\*3)\""
    rule = {**RULE, "rules": [{"toolName": "Bash", "ruleContent": content}]}
    dialog = bash("python3 -c \"print('x'*3)\"", suggestions=(rule,))
    shown = _shown(dialog)
    assert "2. Yes, and allow this exact command this session" in shown
    assert "3. Yes, and always allow this exact command" in shown and "\\" not in shown
    assert _press(dialog, "3") == Permitted(updates=(rule,))
    _press(dialog, b"\x05")
    assert "would be allowed by: Bash(python3 -c \"print('x'*3)\")" in _shown(dialog)


def test_letters_typed_into_a_field_choose_nothing():
    assert _press(bash("ls"), "3yyyy1") is None


def test_a_paste_never_answers():
    dialog = bash("ls")
    dialog.paste("y\r1\r")
    assert _press(dialog, "5") is None


def test_the_reason_is_explained_on_demand():
    parts = (PartDecision("rm x", "ask", "it removes files"),)
    dialog = bash("rm x", parts=parts, reason_type="subcommandResults")
    assert _press(dialog, b"\x05") is None
    shown = _shown(dialog)
    assert "no rule covers this" in shown and "subcommandResults" not in shown
    assert "ask   rm x" in shown and "it removes files" in shown


def test_a_long_command_is_scrolled_and_never_cut():
    dialog = bash("\n".join(f"echo {number}" for number in range(100)))
    assert "echo 99" not in _shown(dialog)
    for _ in range(20):
        _press(dialog, b"\x1b[6~")
    assert "echo 99" in _shown(dialog)


def test_an_edit_is_shown_as_a_diff():
    question = PermissionQuestion(
        call_id="e",
        tool="Edit",
        input={"file_path": "/proj/a.py", "old_string": "x = 1", "new_string": "x = 2"},
        reason="edits are asked about",
    )
    shown = _shown(PermissionDialog(CallPreview(question, "/proj", "a\nx = 1\nb\n")))
    assert "a.py +1 −1" in shown
    assert "2 - x = 1" in shown and "2 + x = 2" in shown


def test_a_new_file_is_shown_in_full():
    question = PermissionQuestion(
        call_id="w", tool="Write", input={"file_path": "/proj/n.py", "content": "print(1)\n"}, reason="new"
    )
    shown = _shown(PermissionDialog(CallPreview(question, "/proj")))
    assert "n.py · new file" in shown and "print(1)" in shown


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cell_id": "a1", "new_source": "x = 2"}, "replaces the cell a1"),
        ({"cell_id": "a1", "new_source": "x", "cell_type": "markdown"}, "which becomes markdown"),
        ({"cell_id": "a1", "new_source": "", "edit_mode": "delete"}, "deletes the cell a1"),
        ({"new_source": "x", "edit_mode": "insert"}, "adds a code cell at the start"),
        ({"cell_id": "a1", "new_source": "x", "edit_mode": "insert"}, "adds a code cell after a1"),
    ],
)
def test_what_happens_to_which_cell_of_a_notebook_is_shown(given: dict[str, str], said: str):
    input = {"notebook_path": "/proj/n.ipynb", **given}
    question = PermissionQuestion(
        call_id="n", tool="NotebookEdit", input=input, reason="edits are asked about"
    )
    shown = _shown(PermissionDialog(CallPreview(question, "/proj")))
    assert "n.ipynb" in shown and said in shown and given["new_source"] in shown


def test_the_input_of_a_server_tool_is_shown():
    question = PermissionQuestion(
        call_id="m", tool="mcp__db__query", input={"sql": "DROP TABLE a", "limit": 3}, reason="mcp"
    )
    shown = _shown(PermissionDialog(CallPreview(question, "/proj")))
    assert "Use query from db?" in shown
    assert "sql: DROP TABLE a" in shown and "limit: 3" in shown


def test_a_question_says_which_teammate_asks():
    question = PermissionQuestion(
        call_id="m", tool="Bash", input={"command": "ls"}, reason="r", agent_id="a1", asker="ann"
    )
    assert "ann: Run a command?" in _shown(PermissionDialog(CallPreview(question, "/proj")))
    assert "ann: Connect to far.example?" in _shown(
        consent.reach_host(NetworkQuestion(host="far.example", port=1, asker="ann"))
    )


def _plan(*, asker: str | None = None, **options: Any) -> PlanDialog:
    question = PermissionQuestion(
        call_id="p",
        tool="ExitPlanMode",
        input={"plan": "# Do it"},
        reason="plan",
        agent_id=asker,
        asker=asker,
    )
    return PlanDialog(question, **{"may_bypass": False, "offers_new": True, **options})


def test_a_plan_of_an_agent_begins_no_new_conversation_of_the_user():
    assert _press(_plan(asker="ann"), "1").choice == "accept_edits"
    assert _press(_plan(asker="ann"), "2").choice == "ask_each"
    shown = _shown(_plan(asker="ann"))
    assert "ann: Approve this plan?" in shown and "new conversation" not in shown


def test_a_plan_has_four_answers():
    assert _press(_plan(), "\r").choice == "accept_edits"
    assert _press(_plan(), "1").choice == "accept_edits"
    assert _press(_plan(), "2").choice == "ask_each"
    assert _press(_plan(used=0.42), "3").choice == "clear_and_start"
    refused = _press(_plan(), "4 first the tests\r")
    assert (refused.choice, refused.said.strip()) == ("keep_planning", "first the tests")
    assert _press(_plan(), "\x1b").choice == "keep_planning"
    assert "42% of the context is used" in _shown(_plan(used=0.42))


def test_a_plan_may_bypass_permissions_only_where_that_is_allowed():
    assert "bypass permissions" in _shown(_plan(may_bypass=True))
    assert "bypass" not in _shown(_plan())


def _questions(*, several: bool = False, count: int = 1) -> QuestionsDialog:
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    asked = tuple(
        {"question": f"Color {number}?", "header": "Color", "options": options, "multiSelect": several}
        for number in range(count)
    )
    dialog = QuestionsDialog(ChoiceQuestion(call_id="q", questions=asked))
    dialog.arm()
    return dialog


def test_a_question_is_answered_with_one_of_its_options():
    assert _press(_questions(), b"\x1b[B\r") == Chosen(answers={"Color 0?": "Blue"})


def test_a_question_is_answered_in_own_words():
    assert _press(_questions(), "3green\r") == Chosen(answers={"Color 0?": "green"})


def test_several_options_are_ticked():
    assert _press(_questions(several=True), "124\r") == Chosen(answers={"Color 0?": "Red, Blue"})


def test_an_answer_of_ones_own_is_ticked_among_several():
    dialog = _questions(several=True)
    assert _press(dialog, "3pink") is None
    assert "[x] Other: pink" in _shown(dialog)
    assert _press(dialog, "\r") is None
    assert "[x] Other: pink" in _shown(dialog) and "❯ 4. Done" in _shown(dialog)
    assert _press(dialog, "\r") == Chosen(answers={"Color 0?": "pink"})


def test_several_questions_are_answered_one_after_the_other():
    assert _press(_questions(count=2), "12") == Chosen(answers={"Color 0?": "Red", "Color 1?": "Blue"})


def test_escape_answers_no_question():
    assert isinstance(_press(_questions(), b"\x1b"), Refused)


def _form() -> FormDialog:
    schema = {
        "required": ["name", "age"],
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 1, "maximum": 99},
            "loud": {"type": "boolean"},
            "kind": {"enum": ["a", "b"]},
        },
    }
    dialog = FormDialog(ElicitationQuestion(server="s", message="Tell me.", schema=schema))
    dialog.arm()
    return dialog


def test_a_form_is_filled_in_and_sent():
    answer = _press(_form(), b"Ada\r36\r\x1b[C\r\x1b[C\r\r")
    assert answer == Supplied(action="accept", content={"name": "Ada", "age": 36, "loud": True, "kind": "b"})


def test_a_form_says_what_does_not_fit():
    form = _form()
    assert _press(form, "Ada\rold\r\r\r\r") is None
    assert "age must be a whole number." in _shown(form)


def test_a_form_is_declined():
    assert _press(_form(), b"\x1b") == Supplied(action="decline")


def test_dangerous_questions_begin_at_the_harmless_answer():
    assert _press(consent.trust_folder("/proj", ()), "\r") == Picked("leave")
    assert _press(consent.bypass_warning(), "\r") == Picked("leave")
    assert _press(consent.approve_server("s", {}, given={}, changed=False), "\r") == Picked("no")
    assert _press(open_page(ElicitationQuestion(server="s", message="m", url="u")), "\r") == Picked("decline")


def test_trust_lists_what_would_run():
    brought = [TrustItem(file="/proj/.mcp.json", line=4, key="mcpServers.db", value={"command": "npx"})]
    shown = _shown(consent.trust_folder("/proj", brought))
    assert 'mcpServers.db = {"command": "npx"}' in shown and ".mcp.json:4" in shown
