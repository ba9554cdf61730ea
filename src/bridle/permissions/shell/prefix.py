"""The beginning of a command that a suggested rule would allow."""

import re

from bridle.permissions.word_lists import listed
from bridle.types.shell import Part

_VERSION = re.compile(r"\d[\d.]*$")
_WORD = re.compile(r"[\w.@%+:,/-]+", re.ASCII)
_WITH_SUBCOMMANDS = listed("""
    apt apt-get aws az brew bundle bun cargo composer conda deno dnf docker docker-compose dotnet
    flutter gcloud gem gh git glab go gradle hatch helm jj just kubectl make mix mvn nix npm nx pdm pip
    pip3 pipenv pnpm podman poetry pulumi rails rake rbenv ruff rustup sbt swift systemctl task
    terraform tox turbo uv vercel yarn
""")
_WITH_SCRIPTS = frozenset(
    {"npm run", "pnpm run", "yarn run", "bun run", "docker compose", "poetry run", "uv run"}
)
_NEVER = listed("""
    . alias ash awk bash builtin bunx busybox chroot command coproc csh dash dd deno doas env eval exec
    fish gawk ksh lua mawk nice node nohup npx nsenter osascript parallel perl php pkexec pwsh python
    python2 python3 rm rmdir ruby script sed setsid sh source ssh stdbuf su sudo tclsh tcsh time timeout
    trap tsx unshare watch xargs zsh
""")


def rule_prefix(part: Part) -> str | None:
    """The words that a rule for this command and its likes would begin with; None if no rule is good."""
    if part.blocks_prefix or part.critical or not part.allow_forms:
        return None
    words = part.allow_forms[-1].split(" ")
    name = words[0]
    if not _WORD.fullmatch(name) or "=" in name or _VERSION.sub("", name.rpartition("/")[2]) in _NEVER:
        return None
    if name not in _WITH_SUBCOMMANDS:
        return name
    if len(words) < 2 or not _plain(words[1]):
        return name if len(words) < 2 else None
    two = f"{name} {words[1]}"
    if two in _WITH_SCRIPTS:
        return f"{two} {words[2]}" if len(words) > 2 and _plain(words[2]) else None
    return two


def _plain(word: str) -> bool:
    return _WORD.fullmatch(word) is not None and not word.startswith("-")
