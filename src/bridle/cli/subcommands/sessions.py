"""Subcommands about sessions: in the background, on other machines, on a schedule."""

from bridle.cli.flags import SUBCOMMANDS
from bridle.cli.subcommands.values import (
    JSON,
    Argument,
    Subcommand,
    number,
    option,
    session_flags,
    switch,
)

PASSED_ON = (
    "--permission-mode", "--model", "--effort", "--agent", "--settings", "--add-dir", "--plugin-dir",
    "--mcp-config", "--dangerously-skip-permissions",
)  # fmt: skip
"""Flags of a session that those started from the list of sessions get."""
_IN_EDITORS = ("--model", "--permission-mode", "--settings", "--add-dir", "--plugin-dir", "--mcp-config")
MOST_REMOTE = 32
_JOB = Argument("id", "an id, the start of one, or part of the name", completes="jobs")
_OLD = Argument("id", "an id from bridle schedules")
_REMOTE_CONTROL = (
    option("--name", value="text", help="the name of the sessions"),
    option(
        "--spawn", value="where",
        help="where new sessions work: in this folder, each in its own worktree, or a single session",
        choices=("same-dir", "worktree", "session"), default="same-dir",
    ),
    number("--capacity", value="n", help="the most sessions at a time", default=str(MOST_REMOTE)),
    switch("-c", "--continue", help="start with the newest conversation of this folder"),
    option("--session-id", value="id", help="start with this conversation"),
    switch("--create-session-in-dir"),
    switch("--no-create-session-in-dir", help="start without a session"),
    switch("--sandbox", help="run the commands of sessions in the sandbox"),
    switch("--no-sandbox", help="run commands outside the sandbox"),
    option(
        "--remote-control-session-name-prefix", value="text", help="a prefix for unnamed sessions"
    ),
    switch("--verbose", help="print the standard error of the sessions"),
)  # fmt: skip

_CHAIN = Argument("session", "the id of a session (default: the newest)", "optional")
_AUDIT = Subcommand(
    "audit",
    SUBCOMMANDS["audit"],
    default="verify",
    commands=(
        Subcommand(
            "verify", "Check the records: changed, removed, moved, duplicated or truncated",
            "verbs.audit:run_verify",
            arguments=(Argument("session", "the id of a session (default: all)", "optional"),),
            options=(option("--witness", value="file", help="a file with the hashes of seals"),),
            examples=("bridle audit verify", "bridle audit verify --witness /mnt/other/heads.jsonl"),
        ),
        Subcommand("show", "Print the records, one per line", "verbs.audit:run_show", arguments=(_CHAIN,)),
        Subcommand(
            "export", "Print the records in another format", "verbs.audit:run_export",
            arguments=(_CHAIN,),
            options=(
                option(
                    "--format", value="form", help="the format",
                    choices=("jsonl", "otel", "csv"), default="jsonl",
                ),
            ),
            examples=("bridle audit export --format csv",),
        ),
        Subcommand(
            "prove", "Show the records of a tool call and the proof that they are unchanged",
            "verbs.audit:run_prove",
            arguments=(Argument("id", "a tool call, a request, a task, or the index of a record"),),
            options=(option("--session", value="id", help="look only in this session"),),
            examples=("bridle audit prove toolu_01",),
        ),
    ),
    details="Sessions keep these records if bridleAudit.enabled is set. See bridle docs audit.",
)  # fmt: skip

_REWIND = Subcommand(
    "rewind",
    SUBCOMMANDS["rewind"],
    "history.rewind:run_rewind",
    arguments=(Argument("number", "a prompt, 1 is the newest; without one they are listed", "optional"),),
    options=(
        option("--session", value="id", help="a session (default: the newest of this folder)"),
        switch("--files", help="only files"),
        switch("--conversation", help="only the conversation"),
        switch("--dry-run", help="show what would change"),
        switch("--force", help="overwrite what other programs have changed since"),
        switch("--redo", help="take the newest rewind back"),
        switch("--branches", help="list the branches of the conversation"),
        option("--branch", value="n", help="continue with this branch"),
    ),
    details="""\
Files are those of the working folders that anything in the session changed: tools, shell commands, agents,
hooks. Nothing is changed if another program has changed one of them since. See bridle docs rewind.""",
    examples=("bridle rewind", "bridle rewind 2 --dry-run", "bridle rewind 2", "bridle rewind --redo"),
)

SESSIONS = (
    _AUDIT,
    _REWIND,
    Subcommand(
        "acp",
        SUBCOMMANDS["acp"],
        "verbs.acp:run_acp",
        options=(
            *session_flags(*_IN_EDITORS),
            switch("--login", help="ask for an API key and store it; editors run this in a terminal"),
        ),
        details=(
            "Editors start this and speak JSON-RPC with it on standard input and output. The flags count\n"
            "for every session that they open. See bridle docs editors."
        ),
        examples=("bridle acp", "bridle acp --model opus --permission-mode acceptEdits"),
    ),
    Subcommand(
        "agents",
        SUBCOMMANDS["agents"],
        "background.listing:run_agents",
        options=(
            JSON,
            switch("--all", help="include ended sessions"),
            option("--cwd", value="folder", help="only sessions of this folder"),
            *session_flags(*PASSED_ON),
        ),
        details="In a terminal this opens a view; sessions started there get the session flags given here.",
        examples=("bridle agents", "bridle agents --json --all"),
    ),
    Subcommand(
        "attach", SUBCOMMANDS["attach"], "background.attached_terminal:run_attach", arguments=(_JOB,),
        details="Press ctrl+] to detach; the session keeps running.", examples=("bridle attach 3f2a",),
    ),
    Subcommand(
        "logs", SUBCOMMANDS["logs"], "background.logs:run_logs", arguments=(_JOB,),
        options=(switch("-f", "--follow", help="follow the output until the session ends"),),
        examples=("bridle logs 3f2a -f",),
    ),
    Subcommand(
        "stop", SUBCOMMANDS["stop"], "background.verbs:run_stop", arguments=(_JOB,), aliases=("kill",),
        examples=("bridle stop 3f2a",),
    ),
    Subcommand(
        "respawn", SUBCOMMANDS["respawn"], "background.verbs:run_respawn",
        arguments=(
            Argument("id", "an id, the start of one, or part of the name", "optional", completes="jobs"),
        ),
        options=(switch("--all", help="every session that has ended"),),
        examples=("bridle respawn 3f2a", "bridle respawn --all"),
    ),
    Subcommand(
        "rm", SUBCOMMANDS["rm"], "background.verbs:run_rm", arguments=(_JOB,),
        details="Its conversation and worktrees are kept.", examples=("bridle rm 3f2a",),
    ),
    Subcommand(
        "daemon",
        SUBCOMMANDS["daemon"],
        commands=(
            Subcommand(
                "status", "Show whether the supervisor is running, and its sessions; exits with 1 if not",
                "background.verbs:show_supervisor",
            ),
            Subcommand(
                "stop", "Stop the supervisor", "background.verbs:stop_supervisor",
                options=(
                    switch("--any", help="stop the running sessions too"),
                    switch("--keep-workers", help="with --any: keep the sessions running"),
                ),
            ),
        ),
    ),
    Subcommand(
        "remote-control", SUBCOMMANDS["remote-control"], "remote.server_mode:run_remote_control",
        options=_REMOTE_CONTROL, aliases=("rc",),
        details="It listens on this machine only; see bridle docs remote-control for how to reach it.",
        examples=("bridle remote-control --spawn worktree",),
    ),
    Subcommand(
        "remote",
        SUBCOMMANDS["remote"],
        details="Sessions send messages with SendMessage to remote:<name>, and ask you before each one.",
        commands=(
            Subcommand(
                "add", "Add a session", "remote.verbs:add_remote",
                arguments=(
                    Argument("name", "a name for it"),
                    Argument("address", "the address and key that /remote-control shows there; - for stdin"),
                ),
                examples=("bridle remote add attic http://attic:8765/#KEY", "bridle remote add attic -"),
            ),
            Subcommand("list", "List sessions and check that they answer", "remote.verbs:list_remotes"),
            Subcommand(
                "show", "Print the address of a shared background session", "remote.verbs:show_address",
                arguments=(_JOB,), examples=("bridle remote show 3f2a",),
            ),
            Subcommand(
                "remove", "Remove a session", "remote.verbs:remove_remote", aliases=("rm",),
                arguments=(Argument("name", "its name"),),
            ),
        ),
    ),
    Subcommand(
        "schedules",
        SUBCOMMANDS["schedules"],
        default="list",
        details="""\
Scheduled prompts are kept in .claude/scheduled_tasks.json. A prompt that none of your sessions created runs
only after you approve it, and needs a new approval when it changes.""",
        commands=(
            Subcommand("list", "List the scheduled prompts of this folder", "verbs.schedules:list_schedules"),
            Subcommand(
                "approve", "Approve a prompt in its current form", "verbs.schedules:approve_schedule",
                arguments=(_OLD,),
            ),
            Subcommand(
                "forget", "Revoke an approval", "verbs.schedules:forget_schedule", arguments=(_OLD,)
            ),
        ),
    ),
)  # fmt: skip
