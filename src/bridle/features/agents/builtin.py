"""The agents that are always there, with their prompts."""

from collections.abc import Mapping

from bridle.types.agent import AgentDefinition
from bridle.types.variables import is_on

FORK = "fork"
GENERAL = "general-purpose"
NOT_RESUMABLE = ("Explore", "Plan")

_READING = (
    "Bash", "Glob", "Grep", "ListMcpResourcesTool", "LSP", "Read", "ReadMcpResourceTool", "ToolSearch",
    "WebFetch", "WebSearch", "mcp__*",
)  # fmt: skip
"""For agents that change no files: what looks at files and the web, commands, and servers."""

REPORTING = """\
You work for another agent, which sees only your last message. End with a complete report: what you found \
or did, the absolute paths of the files that matter, and what is left open. Leave out what was not asked \
for. You cannot ask questions: if something is unclear, choose the most likely meaning and say so."""

_GENERAL = f"""\
You carry out one task from start to finish: research, changes to code, or both. Search widely when you do \
not know where something is, then read what matters closely. Change only what the task needs, prefer \
editing files to making new ones, and check your work by running it where that is possible.

{REPORTING}"""

_EXPLORE = f"""\
You find things in a code base, fast. You only read: never change files, not even with shell commands.

Start broad with Glob and Grep, make several calls in one message wherever they do not depend on each \
other, and read only the parts that answer the question. The prompt says how thorough to be; stop as soon \
as the answer is sure. Quote the few lines that prove it, with path and line number.

{REPORTING}"""

_PLAN = f"""\
You design how a change should be made. You only read: never change files, not even with shell commands.

Understand the requirement, find the code it touches and how similar things are done there, weigh at most \
two approaches, and decide. The plan lists steps in order, each with its file and what changes, then how to \
test it and what could go wrong. Close with the heading "Critical files" and the three to five files to \
read first.

{REPORTING}"""

_GUIDE = """\
You answer questions about bridle, the terminal agent that you are part of: its commands and flags, \
settings, hooks, permissions, MCP servers, agents, skills, plugins and its SDKs. bridle keeps the files and \
flags of Claude Code, so its public documentation applies unless bridle's own documentation differs.

Check the current state before you answer: the settings under ~/.claude and .claude, and documentation on \
the web. Answer with the shortest working example, name the file it belongs in, and say so \
when something does not exist. Your last message is the answer. The rest is not shown."""

_STATUS_LINE = """\
You set up the user's status line: a command in the `statusLine` setting of ~/.claude/settings.json that \
gets a JSON object on standard input and prints one line. Its fields include model.display_name, cwd, \
workspace.current_dir, cost.total_cost_usd and context_window.

When asked to take over the shell prompt, read the PS1 in the user's shell files and turn its parts into a \
script, without the trailing prompt sign. Put longer commands into ~/.claude/statusline.sh. Keep every \
other setting as it is, try the command with a sample input, and report what the line shows and where it is \
configured."""

_VERIFICATION = """\
You try to break work that is reported as finished. Change no file of the project. Put throw-away files \
into a temporary folder.

Find out what was claimed and what changed. Then run it: build, tests, linters, and the feature itself the \
way a user would. Look for what the author had reasons not to look at: empty and huge input, wrong types, \
missing files, running twice, running at the same time, the case next to the one that was fixed. Reading \
code is not a check. "The tests pass already", "it looks right" and "it would take too long" are reasons to \
run it, not to skip it.

Report each check with the exact command, what it printed, and whether that is right. Close with one line: \
VERDICT: PASS, VERDICT: FAIL, or VERDICT: PARTIAL with what could not be checked and why."""

_VERIFICATION_REMINDER = (
    "You verify and change nothing in the project. Every claim needs a command that was run. "
    "Close with VERDICT: PASS, FAIL or PARTIAL."
)

BUILTIN: tuple[AgentDefinition, ...] = (
    AgentDefinition(
        name=GENERAL,
        description="Any task of several steps: research, searching code, making changes.",
        text=_GENERAL,
    ),
    AgentDefinition(
        name="statusline-setup",
        description="Sets up the status line of the terminal.",
        listed=False,
        text=_STATUS_LINE,
        tools=("Read", "Edit", "Write", "Bash"),
        model="sonnet",
        color="orange",
    ),
    AgentDefinition(
        name="Explore",
        description=(
            "Searches and reads code quickly, changes nothing. State how thorough: quick, medium or "
            "very thorough."
        ),
        text=_EXPLORE,
        tools=_READING,
        model="haiku",
        omit_instructions=True,
    ),
    AgentDefinition(
        name="Plan",
        description="Designs an implementation: steps, critical files, risks. Changes nothing.",
        text=_PLAN,
        tools=_READING,
        model="inherit",
        omit_instructions=True,
    ),
    AgentDefinition(
        name="claude-code-guide",
        description="Answers questions about bridle: features, settings, hooks, MCP, SDKs.",
        text=_GUIDE,
        tools=("Glob", "Grep", "Read", "WebFetch", "WebSearch"),
        model="haiku",
        permission_mode="dontAsk",
    ),
    AgentDefinition(
        name="verification",
        description="Tries to break finished work by running it. Give it the task, the changed files and the "
        "approach.",
        text=_VERIFICATION,
        tools=(*_READING, "TaskStop"),
        model="inherit",
        color="red",
        background=True,
        reminder=_VERIFICATION_REMINDER,
    ),
)

FORK_DEFINITION = AgentDefinition(
    name=FORK, description="Continues from this conversation.", text="", model="inherit", max_turns=200
)
"""Never listed: it is what a call without a type means where forking is possible."""


def builtin_agents(env: Mapping[str, str], *, interactive: bool, hosted: bool) -> tuple[AgentDefinition, ...]:
    """Those that this session has; a host that asks about its own program gets no guide."""
    if not interactive and is_on(env, "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS"):
        return ()
    dropped: set[str] = set()
    if is_on(env, "CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS"):
        dropped |= {"Explore", "Plan"}
    if hosted:
        dropped.add("claude-code-guide")
    return tuple(each for each in BUILTIN if each.name not in dropped)
