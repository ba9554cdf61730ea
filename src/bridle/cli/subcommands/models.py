"""Subcommands about models, keys, costs and recordings."""

from bridle.cli.flags import SUBCOMMANDS
from bridle.cli.subcommands.values import (
    JSON,
    Argument,
    Flag,
    Subcommand,
    number,
    option,
    repeated,
    session_flags,
    switch,
)

PASSED_ON = ("--model", "--fallback-model", "--settings", "--setting-sources")
"""Flags of a session that decide which models there are."""
KINDS = ("day", "model", "agent", "tool", "project")
_OF_SESSIONS = session_flags(*PASSED_ON)
_VENDOR = Argument("vendor", "the vendor (default: anthropic)", "optional")
_RUN = Argument("arguments", "the flags and the prompt of the run, with -p", "some", passed=True)
_RECORDING = """\
Model requests and answers are recorded in a file of JSON lines. replay runs bridle again with these answers:
no model, no key, no network. Hooks, skills, tools and prompts are real in both. A request that differs from
the recording ends the run: the first difference is shown and the exit code is 1. Dates, ids, folders and
durations are replaced by placeholders; --ignore adds a regular expression for more. Keys and tokens are
never recorded."""

MODELS = (
    Subcommand(
        "models",
        SUBCOMMANDS["models"],
        default="list",
        details="""\
Prices are list prices in dollars per million tokens. A name is an alias (opus, sonnet, haiku, fable, best,
opusplan, yours) or an id; other vendors' models are vendor/name.""",
        commands=(
            Subcommand(
                "list", "List the models that you can use", "verbs.models:list_models",
                arguments=(Argument("vendor", "only this vendor's models", "optional"),),
                options=(
                    switch("-a", "--all", help="include models without a key"), JSON,
                    *_OF_SESSIONS,
                ),
                examples=("bridle models", "bridle models list openai --all"),
            ),
            Subcommand(
                "show", "Show the details of a model", "verbs.models:show_model",
                arguments=(Argument("name", "an alias or an id", completes="models"),),
                options=(JSON, *_OF_SESSIONS),
                examples=("bridle models show sonnet",),
            ),
            Subcommand(
                "test", "Send a small request with one tool", "verbs.models:test_model",
                arguments=(
                    Argument(
                        "name", "an alias or an id (default: the current model)", "optional",
                        completes="models",
                    ),
                ),
                options=(JSON, *_OF_SESSIONS), examples=("bridle models test haiku",),
            ),
            Subcommand(
                "chain", "Show the model in use and its fallbacks",
                "verbs.models:show_chain", options=(JSON, *_OF_SESSIONS),
                examples=("bridle models chain --fallback-model haiku,openai/gpt-5",),
            ),
        ),
    ),
    Subcommand(
        "local",
        SUBCOMMANDS["local"],
        "verbs.local:run_local",
        arguments=(Argument("what", "the default", "optional", choices=("list",)),),
        options=(JSON,),
        details="""\
Looks for Ollama, llama.cpp, LM Studio, vLLM and SGLang on their default ports, or where OLLAMA_HOST,
LLAMACPP_BASE_URL, LMSTUDIO_BASE_URL, VLLM_BASE_URL and SGLANG_BASE_URL point.""",
    ),
    Subcommand(
        "gateway",
        SUBCOMMANDS["gateway"],
        "verbs.gateway:run_gateway",
        options=(
            option("--config", value="file", help="the file of the gateway (gateway.yaml)"),
            switch("--check", help="check the file and exit"),
            switch("--new-key", help="print a new key for a user, and its hash for the file"),
        ),
        details="""\
Speaks Anthropic's Messages API and OpenAI's Chat Completions, to clients and to services. No content is kept.
Needs the packages of bridle[hub]. See `bridle docs gateway`.""",
        examples=("bridle gateway --config gateway.yaml", "bridle gateway --new-key"),
    ),
    Subcommand(
        "auth",
        SUBCOMMANDS["auth"],
        details="""\
Keys go into the system's keyring, else into a file that only you can read (set
BRIDLE_CREDENTIALS=keyring or file to choose). Variables such as ANTHROPIC_API_KEY override stored keys.""",
        commands=(
            Subcommand(
                "login", "Store a key, typed in or from stdin",
                "verbs.auth:login",
                arguments=(_VENDOR,),
                options=(
                    switch("--key-stdin", help="read the key from stdin"),
                    switch("--browser", help="log in on the vendor's page instead (openrouter)"),
                    switch("--no-verify", help="skip the free request that checks the key"),
                    switch("--console"), switch("--claudeai"), switch("--sso"),
                    Flag(("--email",), "optional"), switch("--json"),
                ),
                examples=(
                    "bridle auth login", "pass show openai | bridle auth login openai --key-stdin",
                    "bridle auth login openrouter --browser",
                ),
            ),
            Subcommand(
                "status", "Show where keys come from, as JSON; exits with 1 if the model has none",
                "verbs.auth:status",
                options=(switch("--text", help="print text"), switch("--json", help="print JSON (default)")),
            ),
            Subcommand(
                "logout", "Remove a stored key", "verbs.auth:logout",
                arguments=(_VENDOR,), options=(switch("--all", help="remove every stored key"),),
            ),
        ),
    ),
    Subcommand(
        "setup-token",
        SUBCOMMANDS["setup-token"],
        "verbs.auth:setup_token",
        arguments=(_VENDOR,),
        options=(
            switch("--key-stdin", help="read the key from standard input"),
            switch("--no-verify", help="skip the free request that checks the key"),
        ),
        details="""\
The key is typed without being shown, or made on the vendor's page where it has one for other programs
(openrouter). It is tried, printed to standard output and stored nowhere, for scripts and other machines.""",
        examples=("bridle setup-token", "bridle setup-token openrouter"),
    ),
    Subcommand(
        "usage",
        SUBCOMMANDS["usage"],
        "verbs.usage:run_usage",
        options=(option("--by", value="kind", help="group by this", choices=KINDS, default="day"),
            option("--html", value="file", help="write the last 30 days as an HTML page"),
            JSON,
        ),
        details="""\
Reads the transcripts of all projects, and the ledger for sessions without one (see bridleRecordUsage).""",
        examples=("bridle usage", "bridle usage --by model --json", "bridle usage --html usage.html"),
    ),
    Subcommand(
        "search",
        SUBCOMMANDS["search"],
        "verbs.search:run_search",
        arguments=(Argument("words", 'words that a message must have; "in quotes" as they are', "many"),),
        options=(
            option("--regex", value="pattern", help="a regular expression, not words; reads all files"),
            repeated("--tool", value="name", help="messages that call this tool"),
            repeated("--file", value="path", help="messages that name this file"),
            repeated("--source", value="agent", help="claude (and bridle), codex, gemini, opencode or pi"),
            repeated("--role", value="role", help="user, assistant or tool"),
            option("--since", value="time", help="not older than 30m, 12h, 7d, 4w or a date"),
            switch("--here", help="only conversations of this folder"),
            option("--session", value="id", help="only this conversation"),
            option("--limit", value="n", help="the maximum number of messages to print", default="20"),
            option("--show", value="number", help="print this message and the ones around it"),
            switch("--update", help="update the index without searching"),
            switch("--rebuild", help="rebuild the index"),
            JSON,
        ),
        details="""\
Searches the transcripts of bridle, Claude Code, Codex, Gemini CLI, opencode and pi. The first search makes an
index, which has words and no texts; every search reads what is new first. See bridle docs search.""",
        examples=(
            "bridle search flaky login test",
            "bridle search --tool Bash --since 7d terraform",
            "bridle search --show 1234",
        ),
    ),
    Subcommand(
        "record",
        SUBCOMMANDS["record"],
        "verbs.record:run_record",
        arguments=(_RUN,),
        options=(
            Flag(("-o", "--output"), "value", "the file to write", "file", default="cassette.jsonl"),
            repeated("--ignore", value="pattern", help="a pattern for text that differs between runs"),
        ),
        details=_RECORDING,
        examples=("bridle record -o fix.jsonl -- -p 'fix the test'",),
    ),
    Subcommand(
        "replay",
        SUBCOMMANDS["replay"],
        "verbs.record:run_replay",
        arguments=(Argument("file", "the recording", completes="file"), _RUN),
        details=_RECORDING,
        examples=("bridle replay fix.jsonl -- -p 'fix the test'",),
    ),
    Subcommand(
        "merge",
        SUBCOMMANDS["merge"],
        "verbs.merge:run_merge",
        arguments=(
            Argument(
                "branches", "branches to merge (default: every worktree-* branch with new commits, oldest "
                    "first)", "many",
            ),
        ),
        options=(
            option("--test", value="command", help="the test command (default: the project's own)"),
            switch("--no-test", help="merge what does not conflict, without tests"),
            option("--into", value="branch", help="merge into this branch instead of the current one"),
            switch("--dry-run", help="show what would conflict, without merging or testing"),
            switch("--delete", help="remove merged branches, and their worktrees if clean"),
            number(
                "--timeout", value="seconds", help="time limit for the tests of one merge",
                default="1800", decimal=True,
            ),
            switch("--json", help="print one JSON object for each branch"),
        ),
        details="""\
Each merge is made and tested in a separate worktree; the branch moves only if the tests pass. Branches that
conflict or fail are left alone. After an interruption, run the same command again: it continues where it
stopped, without repeating tests that passed.
Exit codes: 0 everything is merged, 1 the queue could not run, 3 something conflicts, 4 tests failed.""",
        examples=("bridle merge", "bridle merge --test 'make test' worktree-a worktree-b"),
    ),
)  # fmt: skip
