"""What a shell prints behind its start-up files, and how that is read."""

import re
from collections.abc import Iterator

from msgspec import Struct

from bridle.host.startup.files import Shell

OPTIONS = ("noclobber", "nounset", "pipefail")
"""The options that leave every command what it is, and only say when one fails."""
_BASH = r"""
\builtin unset HISTFILE PROMPT_COMMAND
if [ -n "$2" ]; then \builtin . "$2"; fi
\builtin printf '\n%s\0%s\0' "$1" "$PATH"
for __name in noclobber nounset pipefail; do
  if [[ -o $__name ]]; then \builtin printf '%s\0' "$__name"; fi
done
\builtin printf '%s\0' "$1"
for __name in "${!BASH_ALIASES[@]}"; do \builtin printf '%s\0%s\0' "$__name" "${BASH_ALIASES[$__name]}"; done
\builtin printf '%s\0' "$1"
while \builtin read -r _ _ __name; do
  case $__name in _[!_]*) continue ;; esac
  \builtin printf '%s\0' "$__name"; \builtin declare -f -- "$__name"; \builtin printf '\0'
done < <(\builtin declare -F)
\builtin printf '%s\0' "$1"
\builtin exec /bin/sh -c :
"""
_ZSH = r"""
\builtin unset HISTFILE
\builtin zmodload zsh/parameter
\builtin print -rn -- $'\n'"$1"$'\0'"$PATH"$'\0'
[[ -o clobber ]] || \builtin print -rn -- $'noclobber\0'
[[ -o unset ]] || \builtin print -rn -- $'nounset\0'
[[ -o pipefail ]] && \builtin print -rn -- $'pipefail\0'
\builtin print -rn -- "$1"$'\0'
for __name in "${(@k)aliases}"; do \builtin print -rn -- "$__name"$'\0'"${aliases[$__name]}"$'\0'; done
\builtin print -rn -- "$1"$'\0'
for __name in "${(@k)functions}"; do
  [[ $__name == _[^_]* ]] || \builtin print -rn -- "$__name"$'\0'"$(\builtin functions -- "$__name")"$'\0'
done
\builtin print -rn -- "$1"$'\0'
\builtin exec /bin/sh -c :
"""
_NAME = re.compile(r"[A-Za-z_][\w.:+-]*|\.{2,}", re.ASCII)
_UNLOADED = "builtin autoload -X"
_MOST_CHARACTERS = 512 * 1024


class Definitions(Struct, frozen=True):
    """What a shell knew behind its start-up files."""

    path: str
    options: tuple[str, ...]
    aliases: dict[str, str]
    functions: dict[str, str]
    """Each as the shell prints it."""


def printing_definitions(program: str, shell: Shell, *, mark: str, bashrc: str) -> list[str]:
    """The arguments of a shell that reads its start-up files as at a terminal, and prints what it knows."""
    return [program, "-l", "-i", "-c", _BASH if shell == "bash" else _ZSH, shell, mark, bashrc]


def read_definitions(output: bytes, mark: str) -> Definitions | None:
    """What a shell printed, behind whatever the start-up files did; None where it did not come to the end."""
    pieces = output.split(mark.encode() + b"\0")
    if len(pieces) < 5:
        return None
    first, *options = _texts(pieces[-4])
    known = dict(_pairs(pieces[-2]))
    left, functions = _MOST_CHARACTERS, dict[str, str]()
    for name, text in known.items():
        left -= len(text)
        if left >= 0 and _UNLOADED not in text and not name.startswith("command_not_found_handle"):
            functions[name] = text
    # A blank at its end would have the word behind an alias be one, too.
    aliases = {name: text.rstrip() for name, text in _pairs(pieces[-3])}
    return Definitions(first, tuple(each for each in options if each in OPTIONS), aliases, functions)


def script(aliases: dict[str, str], functions: dict[str, str], shell: Shell) -> str:
    """The text that defines these names; functions first, because a shell puts aliases into what it reads."""
    quoted = {name: "'" + text.replace("'", "'\\''") + "'" for name, text in aliases.items()}
    lines = [f"alias -- {name}={text}" for name, text in quoted.items()]
    if shell == "zsh":
        return "\n".join([*functions.values(), *lines, ""])
    return "\n".join(
        ["shopt -s extglob", *functions.values(), "shopt -u extglob", "shopt -s expand_aliases", *lines, ""]
    )


def _texts(piece: bytes) -> list[str]:
    return piece.decode("utf-8", "replace").split("\0")[:-1]


def _pairs(piece: bytes) -> Iterator[tuple[str, str]]:
    found = _texts(piece)
    for name, text in zip(found[::2], found[1::2], strict=False):
        if _NAME.fullmatch(name) and text.strip() and "\ufffd" not in text:
            yield name, text
