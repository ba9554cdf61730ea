"""Every question that may be put to the user."""

from typing import Any

from bridle.config.trust import TrustItem
from bridle.frontends.tui.dialogs import consent
from bridle.frontends.tui.dialogs.call_preview import CallPreview
from bridle.frontends.tui.dialogs.elicitation import FormDialog, open_page
from bridle.frontends.tui.dialogs.permission import PermissionDialog
from bridle.frontends.tui.dialogs.plan import PlanDialog
from bridle.frontends.tui.dialogs.questions import QuestionsDialog
from bridle.frontends.tui.screen.view import View
from bridle.types.question import ChoiceQuestion, ElicitationQuestion, NetworkQuestion, PermissionQuestion
from bridle.types.services.tasks import Task

RULE: dict[str, Any] = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "npm test:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}


def every_dialog() -> list[tuple[str, View[Any]]]:
    """A fresh one of each, by name."""
    plan = PermissionQuestion(
        call_id="p", tool="ExitPlanMode", input={"plan": "# Plan\n\n" + "- step\n" * 60}, reason="plan"
    )
    ask = ChoiceQuestion(
        call_id="q",
        questions=(
            {
                "question": "Which database do you want to use for this?",
                "header": "Database",
                "options": [
                    {"label": "SQLite", "description": "a file", "preview": "CREATE TABLE a(b);"},
                    {"label": "Postgres", "description": "a server"},
                ],
                "multiSelect": False,
            },
        ),
    )
    form = ElicitationQuestion(server="s", message="Who are you?", schema={"properties": {"name": {}}})
    task = Task(id="b1", kind="local_bash", description="make", call_id="c", output_file="/o", started=0)
    brought = [TrustItem(file="/proj/.claude/settings.json", line=3, key="hooks", value={"Stop": []})]
    edit = PermissionQuestion(
        call_id="e",
        tool="Edit",
        input={"file_path": "/proj/a.py", "old_string": "x = 1", "new_string": "x = 2"},
        reason="edits are asked about",
    )
    script = "export const meta = {name: 'a', description: 'b', phases: ['c']}\n" + "agent('x')\n" * 60
    workflow = PermissionQuestion(call_id="w", tool="Workflow", input={"script": script}, reason="it costs")
    return [
        ("workflow", PermissionDialog(CallPreview(workflow, "/proj"))),
        ("bash", bash("rm -rf build && npm test", suggestions=(RULE,))),
        ("edit", PermissionDialog(CallPreview(edit, "/proj", "a\nx = 1\nb\n"))),
        ("plan", PlanDialog(plan, may_bypass=False, used=0.4, offers_new=True)),
        ("questions", QuestionsDialog(ask)),
        ("form", FormDialog(form)),
        ("page", open_page(ElicitationQuestion(server="s", message="m", mode="url", url="https://e.org/x"))),
        ("trust", consent.trust_folder("/proj", brought)),
        ("bypass", consent.bypass_warning()),
        (
            "server",
            consent.approve_server("db", {"command": "npx", "args": ["-y", "db"]}, given={}, changed=True),
        ),
        ("network", consent.reach_host(NetworkQuestion(host="example.org", port=443))),
        ("cost", consent.cost_reached(5.5)),
        ("imports", consent.import_outside(["/etc/x.md"], "/proj")),
        ("leave", consent.leave_running([task])),
        ("memory", consent.where_to_remember("use tabs", [("Project", "/proj/CLAUDE.md")])),
    ]


def bash(command: str, **options: Any) -> PermissionDialog:
    """May this command run?"""
    question = PermissionQuestion(
        call_id="c", tool="Bash", input={"command": command}, reason="No rule covers this.", **options
    )
    dialog = PermissionDialog(CallPreview(question, "/proj"))
    dialog.panel.arm()
    return dialog
