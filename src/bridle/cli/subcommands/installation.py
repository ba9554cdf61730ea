"""Subcommands about the installation and what it keeps on this machine."""

from bridle.cli.flags import SUBCOMMANDS
from bridle.cli.subcommands.values import YES, Argument, Subcommand, option, repeated, switch
from bridle.commands.imports import AGENTS

_DRY = switch("--dry-run", help="show what would happen, without doing it")
_HOW = """\
It is done with the program that installed this one: pipx, uv or pip; where that is a package of your system,
conda or a checkout, the right command is shown. bridle never looks for updates unless you ask it to. An
update that fails leaves the old version usable. DISABLE_UPDATES=1 turns updates off."""

INSTALLATION = (
    Subcommand(
        "bundle",
        SUBCOMMANDS["bundle"],
        "bundle.verbs:run_bundle",
        options=(
            option("-o", "--output", value="file", help="the file (default: named after version and system)"),
            repeated("--extras", value="name", help="extras to include, such as hub"),
        ),
        details="""\
The file holds this installation with every package that it needs, for the same Python version and kind of
system. There, python3 FILE installs it; see python3 FILE --help.""",
        examples=("bridle bundle", "bridle bundle --extras hub -o offline.pyz"),
    ),
    Subcommand(
        "update",
        SUBCOMMANDS["update"],
        "verbs.update:run_update",
        options=(switch("--check", help="only check whether a newer version exists"), _DRY),
        details=_HOW,
        examples=("bridle update --check", "bridle update"),
    ),
    Subcommand(
        "install",
        SUBCOMMANDS["install"],
        "verbs.update:run_install",
        arguments=(
            Argument("version", "stable, latest or a number such as 0.1.0 (default: latest)", "optional"),
        ),
        options=(_DRY,),
        details=_HOW,
        examples=("bridle install latest", "bridle install 0.1.0"),
    ),
    Subcommand(
        "import",
        SUBCOMMANDS["import"],
        "verbs.import_settings:run_import",
        arguments=(Argument("agent", "only from this agent (default: all)", "optional", choices=AGENTS),),
        options=(_DRY, YES),
        details="""\
Instructions, MCP servers and custom prompts are brought over from ~/.codex, ~/.gemini and ~/.config/opencode.
Existing configuration is never replaced, and the originals stay in place.""",
        examples=("bridle import --dry-run", "bridle import codex --yes"),
    ),
    Subcommand(
        "project",
        SUBCOMMANDS["project"],
        commands=(
            Subcommand(
                "purge", "Delete conversations, file versions, trust and approvals of a project",
                "verbs.project:purge",
                arguments=(
                    Argument("path", "the folder (default: this one)", "optional", completes="folder"),
                ),
                options=(
                    _DRY, YES, switch("-i", "--interactive", help="ask for each project"),
                    switch("--all", help="every project"),
                ),
                details="Nothing in the project itself is touched.",
                examples=("bridle project purge --dry-run", "bridle project purge ~/old -y"),
            ),
        ),
    ),
    Subcommand(
        "man",
        SUBCOMMANDS["man"],
        "verbs.help_page:run_man",
        details="At a terminal the page opens in man; in a pipe it is printed in the format of man pages.",
        examples=("bridle man", "bridle man | less"),
    ),
)  # fmt: skip
