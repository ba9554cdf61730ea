"""Subcommands about settings, permissions and the installation."""

from bridle.cli.flags import MODE_NAMES, SUBCOMMANDS
from bridle.cli.subcommands.values import JSON, YES, Argument, Subcommand, option, repeated, switch

_SCOPE = option(
    "-s", "--scope", value="scope", help="which settings file", choices=("user", "project", "local"),
    default="user",
)  # fmt: skip
_KEY = Argument("key", "a key with dots, such as permissions.defaultMode")
_ALWAYS_JSON = switch("--json")

TRUST_ARGUMENTS = (Argument("folder", "the folder; this one unless named", "optional", completes="folder"),)
TRUST_OPTIONS = (
    switch("-y", "--yes", help="trust it without asking, for scripts"),
    repeated(
        "--give",
        value="NAME",
        help="with -y: the credential in this variable is passed to servers of .mcp.json that name it",
    ),
    switch("--status", help="say whether it is trusted; exit code 1 if not"),
    switch("--revoke", help="trust it no longer"),
)

SETTINGS = (
    Subcommand(
        "config",
        SUBCOMMANDS["config"],
        commands=(
            Subcommand(
                "explain", "Show every source that sets a key, and which wins", "verbs.config:explain_key",
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
                arguments=(_KEY, Argument("value", "JSON; what is not JSON is taken as text")),
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
                "check", "Print what is wrong in the settings files; exit code 1 if anything is",
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
                arguments=(Argument("call", "a call as a rule is written, Bash(git push), or as JSON"),),
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
                "lint", "Find rules that have no effect; exit code 1 if there are any",
                "verbs.policy:lint_rules", options=(JSON,),
            ),
        ),
    ),
    Subcommand(
        "trust",
        SUBCOMMANDS["trust"],
        "verbs.trust:run_trust",
        arguments=TRUST_ARGUMENTS,
        options=TRUST_OPTIONS,
        details="""\
Trust belongs to one repository, or to one folder outside any. Until it is given, nothing from the folder runs
and none of its settings adds permissions; its deny and ask rules always count.
What is trusted is what the folder brings today: hooks, allow rules, variables and the like that are new or
have changed since do not count until you run this again.
Servers of .mcp.json that name variables with credentials of model services or clouds, as in
${AWS_SECRET_ACCESS_KEY}, get them only if you answered the question here or named them with --give.
BRIDLE_TRUST_FOLDER=/absolute/path trusts a folder for one run and remembers nothing.""",
        examples=("bridle trust", "bridle trust --status ~/project", "bridle trust -y --give OPENAI_API_KEY"),
    ),
    Subcommand(
        "auto-mode",
        SUBCOMMANDS["auto-mode"],
        details="""\
Rules are sentences in the setting autoMode: environment (what is trusted), allow (fine), soft_deny (a person
is asked) and hard_deny (never). autoMode.classifyAllShell sends every shell command to the reviewer.""",
        commands=(
            Subcommand(
                "defaults", "Print the built-in rules", "verbs.auto_mode:print_defaults",
                options=(option("--label", value="text", help="only rules whose label begins with this"),),
            ),
            Subcommand(
                "config", "Print the rules that count: the built-in ones and yours",
                "verbs.auto_mode:print_rules",
            ),
            Subcommand(
                "critique", "Let a model review the rules that you have added", "verbs.auto_mode:critique",
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
        options=(JSON,),
        details="Nothing is changed. The exit code is 1 when something is broken.",
        examples=("bridle doctor", "bridle doctor security --json"),
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
