"""Every subcommand of bridle."""

from bridle.cli.flags import SUBCOMMANDS
from bridle.cli.subcommands.extending import EXTENDING
from bridle.cli.subcommands.fleet import EVAL, FLEET
from bridle.cli.subcommands.fleet import WORKER as FLEET_WORKER
from bridle.cli.subcommands.hub import HUB
from bridle.cli.subcommands.installation import INSTALLATION
from bridle.cli.subcommands.models import MODELS
from bridle.cli.subcommands.sessions import SESSIONS
from bridle.cli.subcommands.settings import SETTINGS
from bridle.cli.subcommands.values import JSON, Argument, Subcommand, number, option, switch

SHELLS = ("bash", "zsh", "fish", "powershell")

_OWN = (
    Subcommand(
        "completion",
        SUBCOMMANDS["completion"],
        "subcommands.completion:run_completion",
        arguments=(Argument("shell", "your shell", choices=SHELLS),),
        details=(
            "Load the script when your shell starts: see the examples. It completes subcommands, options,\n"
            "values of options, and the names of sessions, agents, models and background sessions."
        ),
        examples=(
            'bash:  eval "$(bridle completion bash)"                            in ~/.bashrc',
            'zsh:   eval "$(bridle completion zsh)"                             in ~/.zshrc, after compinit',
            "fish:  bridle completion fish > ~/.config/fish/completions/bridle.fish",
            "pwsh:  bridle completion powershell | Out-String | Invoke-Expression   in $PROFILE",
        ),
    ),
    Subcommand(
        "demo",
        SUBCOMMANDS["demo"],
        "verbs.demo:run_demo",
        options=(switch("-p", "--print", help="print the steps instead of opening the terminal"),),
        details=(
            "Copies a small project with a failing test to a temporary folder and opens it with the offline\n"
            "model. It needs no key and no network, and leaves your settings and sessions alone."
        ),
        examples=("bridle demo", "bridle demo --print"),
    ),
    Subcommand(
        "links",
        SUBCOMMANDS["links"],
        commands=(
            Subcommand(
                "install",
                "Register bridle for links on this desktop",
                "terminal.links:install",
                examples=("bridle links install",),
            ),
            Subcommand("uninstall", "Take it back", "terminal.links:uninstall"),
        ),
        details=(
            "claude-cli://open?q=<prompt>&cwd=<folder> opens a session with the prompt typed in. Nothing is\n"
            "sent before you press Enter. Nothing is registered unless you ask for it here."
        ),
    ),
    Subcommand(
        "ultrareview",
        SUBCOMMANDS["ultrareview"],
        "headless.review:run_review",
        arguments=(
            Argument(
                "target", "a pull request, link or branch; what is not committed if omitted", "optional"
            ),
        ),
        options=(
            JSON,
            number("--timeout", value="minutes", help="stop after this time", default="60"),
            switch("--post", help="post the findings as a comment on the pull request"),
            switch("--no-post", help="only print them (default)"),
        ),
        details=(
            "Runs /ultrareview here, with your key, in print mode. Rules decide what it may run.\n"
            "The exit code is 0 for a review and 1 if there is none."
        ),
        examples=("bridle ultrareview", "bridle ultrareview 123 --post", "bridle ultrareview main --json"),
    ),
    Subcommand(
        "docs",
        SUBCOMMANDS["docs"],
        "verbs.docs:run_docs",
        arguments=(Argument("topic", "a page, such as models or permissions", "many", completes="topic"),),
        options=(
            switch("-s", "--search", help="list the sections that contain all the words"),
            switch("-l", "--list", help="list the topics"),
            switch("--plain", help="print Markdown, even in a terminal"),
        ),
        details=(
            "In a terminal the pages open in a viewer: type to search all of them, press enter to open "
            "a page\n"
            "and / to search in it. In a pipe the page is printed as Markdown."
        ),
        examples=(
            "bridle docs",
            "bridle docs models",
            "bridle docs --search shift+enter",
            "bridle docs settings | less",
        ),
    ),
    Subcommand(
        "help",
        SUBCOMMANDS["help"],
        "subcommands.completion:run_help",
        arguments=(Argument("command", "the command, such as mcp add", "many"),),
        examples=("bridle help", "bridle help mcp", "bridle help mcp add"),
    ),
)
_CALLED_BY_BRIDLE = (
    Subcommand(
        "--chrome-native-host",
        "Connect a browser to sessions (used internally)",
        "verbs.chrome:run_native_host",
        arguments=(Argument("origin", "the extension that connects"),),
        hidden=True,
    ),
    Subcommand(
        "--teammate",
        "Run a teammate's session (used internally)",
        "teammate:run_teammate",
        arguments=(
            Argument("socket", "the leader's socket"),
            Argument("agent", "the id of the teammate"),
        ),
        hidden=True,
    ),
    Subcommand(
        "--record-sound",
        "Record from the microphone to standard output (used internally)",
        "verbs.voice:run_record_sound",
        hidden=True,
    ),
    Subcommand(
        "--transcribe",
        "Transcribe the audio on standard input (used internally)",
        "verbs.voice:run_transcribe",
        arguments=(Argument("engine", "the speech engine"),),
        options=(
            option("--model", value="folder", help="the model of the engine"),
            option("--language", value="code", help="the spoken language"),
        ),
        hidden=True,
    ),
    Subcommand(
        "--complete",
        "Print names for shell completion (used internally)",
        "verbs.candidates:run_complete",
        arguments=(
            Argument("kind", "what to list", choices=("sessions", "agents", "models", "jobs", "line")),
            Argument("words", "the command line so far, without the program", "many", passed=True),
        ),
        hidden=True,
    ),
)

ROOT = Subcommand(
    "bridle",
    "An open agent harness for the terminal",
    commands=tuple(
        sorted(
            (
                *_OWN,
                EVAL,
                FLEET,
                FLEET_WORKER,
                HUB,
                *SESSIONS,
                *MODELS,
                *SETTINGS,
                *EXTENDING,
                *INSTALLATION,
                *_CALLED_BY_BRIDLE,
            ),
            key=lambda each: each.name,
        )
    ),
)
