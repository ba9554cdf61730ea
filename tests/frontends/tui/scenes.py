"""Every dialog and view: the keys that lead there, and what must and must not be on the screen."""

import re
from collections.abc import Sequence
from typing import Any

from tests.fakes.messages_server import Received, Script, Step, step
from tests.frontends.tui.stage import DOWN, ESC, FOOT, TAB, UP, Look, Scene

ARMED = "to choose"
_NO_FOOT = (FOOT,)
_COSTLY = {"usage": {"input_tokens": 100, "output_tokens": 520_000}}
_FOUND = "Here is **what I found** in `prices.py`:\n\n- the total leaves out taxes\n- nothing is rounded\n"


def _opened(name: str, *shows: str, command: str = "") -> Look:
    return Look(name, f"/{command or name}\r", shows, _NO_FOOT)


def _back(*shows: str) -> Look:
    """One step back inside a view."""
    return Look("", ESC, shows, ["esc back", "clear the search", "do it"])


def _view(name: str, *shows: str, command: str = "") -> Scene:
    """The view of a command, opened and left again."""
    return Scene([_opened(name, *shows, command=command)])


CONVERSATION: Script = [step(_FOUND, when="look at the prices")]
TALK: Sequence[Scene] = (
    Scene([Look("welcome", "", ["bridle", "ask for anything", FOOT])], leave="", back=""),
    Scene([Look("keys", "?", ["ask for anything", "search history"])], leave="?"),
    Scene([Look("commands", "/co", ["❯ /co", "/context", "/config"], _NO_FOOT)], leave="\x03"),
    Scene([Look("files", "@pri", ["❯ @pri", "› prices.py"], _NO_FOOT)], leave="\x03"),
    Scene([Look("shell", "!git status", ["!git status"])], leave="\x03"),
    Scene([Look("note", "# round to cents", ["# round to cents"])], leave="\x03"),
    Scene([Look("history", "\x12pri", ["search this project: pri"])], leave="\x03\x03"),
    Scene([Look("answer", "look at the prices\r", ["❯ look at", "nothing is rounded", FOOT])], leave=""),
)
TRANSCRIPT = Scene(
    [
        Look("transcript", "\x0f", ["nothing is rounded", "close"], _NO_FOOT),
        Look("transcript-search", "/taxes", ["/ taxes  1 of 1"]),
        Look("transcript-found", "\r", ["/taxes 1 of 1"]),
    ],
    leave="q",
)
RESUME = Scene(
    [
        Look("resume", "/resume\r", ["Resume a conversation", "Login page", "parser"]),
        Look("resume-search", "bug", ["/ bug", "Login page"], ["look at the prices"]),
        Look("resume-preview", "\x16", ["This is what I found."]),
        _back("enter resume"),
        Look("", "\x15", ["look at the prices"]),
        Look("resume-branch", "\x02", ["on main"], ["Write a parser"]),
        Look("", "\x02", ["Write a parser"]),
        Look("resume-rename", f"{DOWN}\x12", ["New title", "Login page"]),
        Look("resume-renamed", " again\r", ["Login page again"]),
        Look("resume-tag", "\x14", ["Tag (empty"]),
        _back("enter resume"),
        Look("resume-all-projects", "\x01", ["all projects"]),
    ]
)
REWIND = Scene(
    [
        _opened("rewind", "Rewind", "look at the prices"),
        Look("rewind-choices", "\r", ["do it"]),
        _back("/ search"),
    ]
)
VIEWS: Sequence[Scene] = (
    TRANSCRIPT,
    RESUME,
    REWIND,
    Scene(
        [
            _opened("permissions", "Bash(git status)"),
            Look("permissions-rule", "\r", ["esc back"]),
            _back("a add"),
            Look("permissions-add", "a", ["esc back"]),
            _back("a add"),
            Look("permissions-deny", TAB * 2, ["Read(.env)"]),
            Look("permissions-folders", TAB, ["working directory"]),
        ]
    ),
    Scene(
        [
            _opened("config", "Settings", "editorMode"),
            Look("config-search", "/theme", ["/ theme"], ["alwaysThinking"]),
            Look("config-changed", "\r\r", ["› theme", "auto     user"]),
            Look("config-usage", TAB, ["cost"]),
        ]
    ),
    _view("model", "Model", "sonnet"),
    _view("effort", "Effort"),
    _view("theme", "Theme", "Dark"),
    Scene(
        [
            _opened("mcp", "MCP servers", "✓ travel"),
            Look("mcp-server", "\r", ["book"]),
            _back("esc close"),
        ]
    ),
    Scene([_opened("agents", "reviewer"), Look("agents-one", "\r", ["esc back"]), _back("esc close")]),
    Scene([_opened("hooks", "PreToolUse"), Look("hooks-event", "\r", ["Bash"]), _back("esc close")]),
    _view("memory", "Memory", "Project"),
    Scene(
        [_opened("context", "System prompt"), Look("context-item", "\r", ["esc back"]), _back("esc close")]
    ),
    _view("cost", "session", "$0.0001"),
    Scene([_opened("usage", "session", "$0.0001"), Look("usage-days", TAB, ["total"])]),
    Scene([_opened("diff", "Changes", "prices.py"), Look("diff-file", "\r", ["tax=0"]), _back("esc close")]),
    _view("tasks", "Background work"),
    _view("doctor", "Doctor"),
    Scene(
        [_opened("help", "Help"), Look("help-commands", TAB, ["/"]), Look("help-keys", TAB * 2, ["enter"])]
    ),
    _view("export", "Export the"),
    _view("copy", "Copy", "the last reply"),
    Scene(
        [
            _opened("skills", "Skills"),
            Look("skills-search", "/rele", ["release"], ["batch"]),
            _back("skillify"),
        ]
    ),
    Scene(
        [
            _opened("plugin", "Plugins"),
            Look("plugin-discover", TAB, ["no "]),
            Look("plugin-markets", TAB, ["no "]),
        ]
    ),
    _view("status", "Session"),
    _view("sandbox", "Sandbox"),
    _view("pin", "Pins"),
)


def _call(tool: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{tool}", "name": tool, "input": input}


_QUESTIONS = [
    {
        "question": "Where should the prices be rounded?",
        "header": "Rounding",
        "multiSelect": False,
        "options": [
            {"label": "Each item", "description": "as invoices do", "preview": "total += round(item)"},
            {"label": "The total", "description": "once, at the end"},
        ],
    },
    {
        "question": "Which currencies are needed?",
        "header": "Currencies",
        "multiSelect": True,
        "options": [
            {"label": "Euro", "description": "cents"},
            {"label": "Yen", "description": "no smaller part"},
        ],
    },
]
_WORKFLOW = """export const meta = {
  name: 'check-prices',
  description: 'Reads every price list and compares them',
  phases: [{ title: 'Read', detail: 'one agent per list' }, { title: 'Compare', model: 'opus' }],
}
phase('Read')
const lists = await parallel(args.lists.map(list => () => agent(`Read ${list}.`, { label: list })))
phase('Compare')
return await agent(`Compare these prices: ${lists.join(', ')}`)
"""
_PLAN = "# Taxes\n\n1. Add a rate to `prices.py`\n2. Round to cents\n3. Test both\n"


def _write_plan(request: Received) -> Step:
    """The plan goes to the file that the request names."""
    found = re.search(rb"/[^\s\"\\]+/plans/[^\s\"\\]+\.md", request.raw)
    assert found is not None, "no file for the plan is named"
    return step(_call("Write", file_path=found[0].decode(), content=_PLAN))


CALLS: Script = [
    step(_call("Bash", command="rm -rf build && npm test -- --coverage", description="Test from scratch")),
    step(_call("Read", file_path="prices.py")),
    step(_call("Edit", file_path="prices.py", old_string="sum(items)", new_string="round(sum(items), 2)")),
    step(_call("Write", file_path="cents.py", content="def cents(value):\n    return round(value * 100)\n")),
    step(
        _call("WebFetch", url="https://rates.example/today?base=EUR", prompt="What is the rate of the yen?")
    ),
    step(_call("Read", file_path="/etc/hosts")),
    step(_call("WebSearch", query="rounding of prices in Japan", allowed_domains=["rates.example"])),
    step(_call("Read", file_path="notes.ipynb")),
    step(
        _call(
            "NotebookEdit",
            notebook_path="notes.ipynb",
            cell_id="rate",
            new_source="rate = 0.07\nprint(rate)",
            edit_mode="replace",
        )
    ),
    step(_call("mcp__travel__book", to="Lisbon", ask="nothing")),
    step(_call("Workflow", script=_WORKFLOW)),
    step(_call("AskUserQuestion", questions=_QUESTIONS)),
    step("As you like."),
    _write_plan,
    step(_call("ExitPlanMode", plan=_PLAN)),
]
"""What the model wants, one after the other: every call is refused, which ends its turn."""


def _asked(prompt: str, *looks: Look, leave: str = ESC) -> Scene:
    """A prompt that makes the model ask, and what its question looks like."""
    first = Look(looks[0].name, f"{prompt}\r", looks[0].shows, looks[0].hides)
    return Scene([first, *looks[1:]], leave)


DIALOGS: Sequence[Scene] = (
    _asked(
        "clean up",
        Look("bash", "", ["Run a command?", ARMED]),
        Look("bash-session", DOWN, ["Run a command?", "❯ 2."]),
        Look("bash-always", DOWN * 2, ["Run a command?", "save to .claude/settings.local.json"]),
        Look("bash-always-for-all", TAB, ["Run a command?", "(shared"]),
        Look("bash-edit", DOWN, ["Run a command?", "❯ 5.", "to edit"]),
        Look("bash-edited", "\r\r", ["1. Yes", "edit the command first"]),
        Look("bash-no", f"{DOWN}not that folder", ["Run a command?", "not that folder"]),
        Look("", UP * 5, ["❯ 1."]),
        Look("bash-why", "\x05", ["Run a command?", "ctrl+e less"]),
    ),
    _asked(
        "change it",
        Look("edit", "", ["Edit a file?", ARMED, "round("]),
        Look("edit-session", DOWN, ["Edit a file?", "❯ 2."]),
    ),
    _asked("write it", Look("write", "", ["Write a file?", ARMED, "cents"])),
    _asked(
        "look it up",
        Look("fetch", "", ["Fetch a page?", ARMED]),
        Look("fetch-always", DOWN * 2, ["Fetch a page?", "save to"]),
    ),
    _asked("read it", Look("read", "", ["Read a file?", ARMED])),
    _asked(
        "search for it",
        Look("search", "", ["Search the web?", ARMED]),
        Look("search-always", DOWN * 2, ["Search the web?", "save to"]),
    ),
    _asked("mend the notebook", Look("notebook", "", ["Edit a notebook?", ARMED, "0.07"])),
    _asked("book it", Look("mcp-call", "", ["Use book from", ARMED])),
    _asked(
        "begin a workflow",
        Look("workflow", "", ["Run a workflow?", "Reads every price list", ARMED]),
        Look("workflow-script", "4", ["Run a workflow?", "export const meta"]),
    ),
    _asked(
        "ask me",
        Look("questions", "", ["Rounding", ARMED]),
        Look("questions-other", DOWN * 2, ["Rounding", "❯ 3."]),
        Look("questions-several", f"{UP}\r", ["Currencies", "[ ]"]),
        Look("questions-ticked", "1", ["Currencies", "[x]"]),
    ),
    Scene(
        [
            Look("mode-of-edits", "\x1b[Z", ["accept edits on"]),
            Look("mode-of-plans", "\x1b[Z", ["plan mode"]),
            Look("plan", "plan it\r", ["Approve this plan?", "Round to cents", ARMED]),
            Look("plan-no", UP, ["Approve this plan?", "❯ 3."]),
        ]
    ),
)


def _passed(*looks: Look) -> Scene:
    """Screens from which the last key leads on by itself."""
    return Scene(looks, leave="", back="")


BOOKINGS: Script = [
    step(_call("mcp__travel__book", to="Lisbon", ask="form")),
    step("Booked."),
    step(_call("Bash", command="sleep 60", run_in_background=True, description="Wait for the train")),
    step("It waits."),
    step(_call("mcp__travel__book", to="Lisbon", ask="page")),
    step("Not paid.", message=_COSTLY),
]
START: Sequence[Scene] = (
    _passed(
        Look("trust", "", ["Do you trust this folder?", ARMED]),
        Look("bypass", "1", ["Bypass all permissions?", ARMED]),
        Look("server", "2", ["Start the MCP server travel?", ARMED]),
        Look("", "1", ["permissions bypassed"]),
    ),
    _passed(
        Look("form", "book a journey\r", ["─ travel asks", "tab for the next field"]),
        Look("form-filled", f"Ada{TAB}x", ["─ travel asks", "Ada", "2x"]),
        Look("form-refused", f"{TAB * 3}\r", ["─ travel asks", "must be a whole number"]),
        Look("", ESC, ["Booked.", FOOT]),
    ),
    _passed(
        Look("remember", "# windows face the sea\r", ["Where do you want to save this?", ARMED]),
        Look("", ESC, [FOOT], ["Where do you want"]),
    ),
    Scene(
        [Look("", "wait\r", ["It waits.", FOOT]), Look("tasks-running", "/tasks\r", ["Wait for the train"])]
    ),
    _passed(
        Look("page", "pay it\r", ["wants to open a page", ARMED]),
        Look("cost-note", ESC, ["─ Cost", ARMED]),
        Look("", ESC, ["Not paid.", FOOT], ["─ Cost"]),
    ),
    _passed(
        Look("", "\x04", ["again to exit"]),
        Look("leave", "\x04", ["Exit?", ARMED]),
    ),
)
NETWORK: Sequence[Scene] = (
    _passed(
        Look("network", "reach it\r", ["Connect to registry.example?", ARMED]),
        Look("network-no", UP, ["Connect to registry.example?", "❯ 4."]),
    ),
)
NETWORK_CALLS: Script = [
    step(_call("Bash", command="curl -s http://registry.example", description="Look")),
    step("No."),
]
