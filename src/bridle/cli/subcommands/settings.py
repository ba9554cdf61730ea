"""Subcommands about settings, permissions and the installation."""

from bridle.cli.flags import MODE_NAMES, SUBCOMMANDS
from bridle.cli.subcommands.values import JSON, YES, Argument, Subcommand, number, option, repeated, switch

_SCOPE = option(
    "-s", "--scope", value="scope", help="which settings file", choices=("user", "project", "local"),
    default="user",
)  # fmt: skip
_KEY = Argument("key", "a key with dots, such as permissions.defaultMode")
_SESSION_FLAGS = Argument("flags", "flags of the session, such as --model", "many", passed=True)
_ALWAYS_JSON = switch("--json")

_HISTORY = (
    repeated("--sessions", value="id", help="only calls of this session (default: sessions of this folder)"),
    switch("--all", help="calls of every folder"),
)

TRUST_ARGUMENTS = (Argument("folder", "the folder (default: this one)", "optional", completes="folder"),)
TRUST_OPTIONS = (
    switch("-y", "--yes", help="trust it without asking, for scripts"),
    repeated(
        "--give",
        value="NAME",
        help="with -y: pass this credential variable to the .mcp.json servers that use it",
    ),
    switch("--status", help="show whether it is trusted; exits with 1 if not"),
    switch("--revoke", help="revoke trust"),
)

SETTINGS = (
    Subcommand(
        "config",
        SUBCOMMANDS["config"],
        commands=(
            Subcommand(
                "explain", "Show which sources set a key, and which one wins", "verbs.config:explain_key",
                arguments=(_KEY,), options=(JSON,), examples=("bridle config explain permissions.allow",),
            ),
            Subcommand(
                "get", "Print the value of a key as JSON", "verbs.config:get_value",
                arguments=(_KEY,), options=(_ALWAYS_JSON,), examples=("bridle config get model",),
            ),
            Subcommand(
                "list", "Print all settings as JSON", "verbs.config:list_values", options=(_ALWAYS_JSON,)
            ),
            Subcommand(
                "set", "Write a value to a settings file", "verbs.config:set_value",
                arguments=(_KEY, Argument("value", "JSON, or plain text")),
                options=(_SCOPE,),
                examples=(
                    "bridle config set model sonnet",
                    "bridle config set --scope project permissions.allow '[\"Bash(make test)\"]'",
                ),
            ),
            Subcommand(
                "unset", "Remove a key from a settings file", "verbs.config:unset_value",
                arguments=(_KEY,), options=(_SCOPE,), examples=("bridle config unset model --scope local",),
            ),
            Subcommand(
                "check", "Check the settings files; exits with 1 if there are problems",
                "verbs.config:check_files",
            ),
            Subcommand(
                "schema", "Print the JSON Schema of settings files, for editors",
                "verbs.config:print_schema", options=(_ALWAYS_JSON,),
            ),
        ),
    ),
    Subcommand(
        "policy",
        SUBCOMMANDS["policy"],
        commands=(
            Subcommand(
                "why", "Show how the permission gate decides about a call, check by check; nothing runs",
                "verbs.policy:why",
                arguments=(
                    Argument("call", "a call such as Bash(git push), or as JSON, or the id of a past call"),
                ),
                options=(
                    option("--mode", value="mode", help="decide in this permission mode", choices=MODE_NAMES),
                    JSON,
                ),
                examples=(
                    "bridle policy why 'Bash(git push)'",
                    "bridle policy why 'Read(/etc/passwd)' --mode plan",
                    """bridle policy why '{"tool": "Bash", "input": {"command": "git push"}}' --json""",
                ),
            ),
            Subcommand(
                "lint", "Find rules that have no effect; exits with 1 if there are any",
                "verbs.policy:lint_rules", options=(JSON,),
            ),
            Subcommand(
                "replay", "Decide again about past calls, and show where the decision differs now",
                "policy.replay:run_replay",
                options=(
                    option("--rules", value="file", help="decide by the rules of this settings file"),
                    switch("--add", help="with --rules: in addition to the rules in force"),
                    *_HISTORY,
                    JSON,
                ),
                examples=("bridle policy replay", "bridle policy replay --rules new.json --all"),
            ),
            Subcommand(
                "learn", "Propose the fewest rules that would have answered what you approved",
                "policy.learn:run_learn",
                options=(
                    number("--at-least", value="n", help="only rules that answer so many calls", default="1"),
                    option(
                        "--write", value="where", help="add them to these settings",
                        choices=("user", "project", "local"),
                    ),
                    *_HISTORY,
                    JSON,
                ),
                examples=("bridle policy learn --all", "bridle policy learn --at-least 3 --write local"),
            ),
            Subcommand(
                "diff", "Compare two sets of rules and what they decide; exits with 1 if they differ",
                "policy.replay:run_diff",
                arguments=(
                    Argument("old", "a settings file, a commit, or: current", completes="file"),
                    Argument("new", "the same (default: current)", "optional", completes="file"),
                ),
                options=(*_HISTORY, JSON),
                examples=("bridle policy diff HEAD~1", "bridle policy diff old.json new.json --all"),
            ),
            Subcommand(
                "test", "Check a file of calls and the decision each must get; exits with 1 if one differs",
                "policy.expectations:run_test",
                arguments=(Argument("file", "lines such as: deny Bash(git push)", completes="file"),),
                options=(
                    option("--rules", value="file", help="decide by the rules of this settings file"),
                    option("--setting-sources", value="list", help="only these: user, project, local"),
                    JSON,
                ),
                examples=("bridle policy test .claude/policy.txt --setting-sources project",),
            ),
        ),
    ),
    Subcommand(
        "lock",
        SUBCOMMANDS["lock"],
        default="write",
        commands=(
            Subcommand(
                "write", "Write bridle.lock for this folder", "lock.verbs:run_write",
                arguments=(_SESSION_FLAGS,),
                options=(option("-o", "--output", value="file", help="another file (default: bridle.lock)"),),
                examples=("bridle lock", "bridle lock write -- --setting-sources project --model opus"),
            ),
            Subcommand(
                "check", "Name everything that differs from bridle.lock; exits with 1 if anything does",
                "lock.verbs:run_check", arguments=(_SESSION_FLAGS,), options=(JSON,),
                examples=("bridle lock check",),
            ),
            Subcommand(
                "diff", "Show which prompts and tools changed between two locks",
                "lock.verbs:run_diff",
                arguments=(
                    Argument("old", "a lock file, a commit, a version, or: installed", completes="file"),
                    Argument("new", "the same (default: installed)", "optional", completes="file"),
                ),
                examples=("bridle lock diff HEAD~1 bridle.lock", "bridle lock diff bridle.lock installed"),
            ),
        ),
        details="""\
Sessions started with --locked take prompts and tools from the lock, and stop if anything differs that
cannot come from there: skills, agents, plugins, hooks, the model, tools of MCP servers.
See bridle docs lock.""",
    ),
    Subcommand(
        "trust",
        SUBCOMMANDS["trust"],
        "verbs.trust:run_trust",
        arguments=TRUST_ARGUMENTS,
        options=TRUST_OPTIONS,
        details="""\
Trust applies to one repository, or to one folder outside any. Without it, nothing from the folder runs and
its settings add no permissions; its deny and ask rules always apply.
Trust covers what the folder configures today: hooks, allow rules, variables and the like that are added or
changed later are ignored until you run this again.
Servers in .mcp.json that use credentials of model services or clouds, as in ${AWS_SECRET_ACCESS_KEY}, get
them only if you agree to it here or pass --give.
BRIDLE_TRUST_FOLDER=/absolute/path trusts a folder for one run only.""",
        examples=("bridle trust", "bridle trust --status ~/project", "bridle trust -y --give OPENAI_API_KEY"),
    ),
    Subcommand(
        "auto-mode",
        SUBCOMMANDS["auto-mode"],
        details="""\
Rules are sentences in the setting autoMode: environment (what is trusted), allow (fine), soft_deny (ask
the user) and hard_deny (never). autoMode.classifyAllShell sends every shell command to the reviewer.""",
        commands=(
            Subcommand(
                "defaults", "Print the built-in rules", "verbs.auto_mode:print_defaults",
                options=(option("--label", value="text", help="only rules whose label begins with this"),),
            ),
            Subcommand(
                "config", "Print the rules in effect: the built-in ones and yours",
                "verbs.auto_mode:print_rules",
            ),
            Subcommand(
                "critique", "Have a model review the rules you added", "verbs.auto_mode:critique",
                options=(option("--model", value="name", help="the model that reviews them"),),
            ),
            Subcommand(
                "reset", "Remove your rules from the user settings", "verbs.auto_mode:reset", options=(YES,)
            ),
        ),
    ),
    Subcommand(
        "doctor",
        SUBCOMMANDS["doctor"],
        "verbs.doctor:run_doctor",
        arguments=(
            Argument("part", "security checks what protects this machine", "optional", choices=("security",)),
        ),
        options=(JSON, switch("--managed", help="show what administrators have set, and where")),
        details="Changes nothing. Exits with 1 if there are problems.",
        examples=("bridle doctor", "bridle doctor security --json", "bridle doctor --managed"),
    ),
    Subcommand(
        "debug",
        SUBCOMMANDS["debug"],
        commands=(
            Subcommand(
                "permissions", "Decide about calls on standard input, one JSON object per line",
                "verbs.debug:decide_lines",
                options=(switch("--json", help="print one JSON object per line (always so)"),),
                examples=(
                    """echo '{"tool": "Bash", "input": {"command": "git push"}, "cwd": "/project", """
                    """"rules": {"deny": ["Bash(git push *)"]}}' | bridle debug permissions --json""",
                ),
            ),
            Subcommand(
                "prompt", "Show what the first request of a session costs, part by part",
                "verbs.prompt_cost:run_prompt",
                arguments=(
                    Argument("flags", "flags of the session, such as --model", "many", passed=True),
                ),
                options=(
                    option(
                        "--mode", value="print|terminal|agent[:TYPE]", help="which kind of session",
                        default="print",
                    ),
                    JSON,
                ),
                details="""\
Parts are sections of the system prompt, tools, reminders and memory files. Nothing is sent and nothing runs:
no model, no hooks, no servers of your settings. An agent is general-purpose unless TYPE names another.""",
                examples=("bridle debug prompt", "bridle debug prompt --mode agent:Explore -- --model opus"),
            ),
        ),
    ),
)  # fmt: skip
