"""`bridle completion`: scripts that complete commands, options and values in a shell; and `bridle help`."""

from collections.abc import Callable, Iterator, Mapping

from bridle.cli.flags import FLAGS, Flag
from bridle.cli.say import say
from bridle.cli.subcommands.catalog import ROOT
from bridle.cli.subcommands.help import help_text
from bridle.cli.subcommands.parser import ParsedArguments, help_on
from bridle.cli.subcommands.values import COMPLETED_FLAGS, HELP, Subcommand
from bridle.commands.queries.documentation import topics


def run_completion(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the script for a shell."""
    del env
    return say(_SCRIPTS[given.one("shell")]())


def run_help(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the help of bridle or of one command.

    Raises:
        CommandLineError: there is no such command.
    """
    del env
    if not (names := given.all("command")):
        from bridle.cli.help import text

        return say(text())
    wanted = help_on(ROOT, (), names)
    return say(help_text(wanted.command, wanted.path))


_LOOKED_UP = ("sessions", "agents", "models", "jobs")
"""Names that the script asks bridle for; it prints only such as a shell takes for plain words."""


class _Node:
    """What can follow a command: its subcommands, its options, and values of its arguments."""

    __slots__ = ("commands", "files", "flags", "folders", "names", "words")

    def __init__(self, command: Subcommand) -> None:
        self.commands = [each for each in command.commands if not each.hidden]
        default = command.find(command.default)
        own = FLAGS if command is ROOT else (*command.options, *(default.options if default else ()), HELP)
        self.flags = [flag for flag in own if flag.help and flag.status == "works"]
        self.words = [word for each in command.arguments for word in each.choices]
        completes = {each.completes for each in command.arguments}
        if "topic" in completes:
            self.words += topics()
        self.files = "file" in completes
        self.folders = "folder" in completes
        self.names = next((each for each in completes if each in _LOOKED_UP), "")


def _nodes(command: Subcommand, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], _Node]]:
    """Every command by each of its names, below the one that is named."""
    yield path, _Node(command)
    for each in command.commands:
        if not each.hidden:
            for name in (each.name, *each.aliases):
                yield from _nodes(each, (*path, name))


def _bash() -> str:
    nodes = list(_nodes(ROOT, ()))
    valued = [(path, flag) for path, node in nodes for flag in node.flags if flag.kind != "switch"]
    paths = "|".join(f'"{" ".join(path)}"' for path, _ in nodes if path)
    lines = [
        '# bash completion for bridle: eval "$(bridle completion bash)"',
        "_bridle_names() {",
        "    local name",
        "    while IFS= read -r name; do",
        '        [[ $name == "$current"* ]] && COMPREPLY+=("$name")',
        '    done < <(command bridle --complete "$1" 2>/dev/null)',
        "}",
        "_bridle() {",
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} path= word i",
        "    if [[ $current == '=' ]]; then current=; elif [[ $previous == '=' ]]; then",
        "        previous=${COMP_WORDS[COMP_CWORD-2]}; fi",
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        "        word=${COMP_WORDS[i]}",
        "        [[ $word == -- ]] && return 0",
        f'        case "${{path:+$path }}$word" in {paths}) path="${{path:+$path }}$word" ;; esac',
        "    done",
        "    COMPREPLY=()",
        '    case "$path $previous" in',
        *_choices(valued),
        "    esac",
        '    case "$path" in',
        *(f"        {_quoted(' '.join(path))}) {_offers(node)} ;;" for path, node in nodes),
        "    esac",
        "    return 0",
        "}",
        "complete -o bashdefault -o default -F _bridle bridle",
    ]
    return "\n".join(lines) + "\n"


def _choices(valued: list[tuple[tuple[str, ...], Flag]]) -> Iterator[str]:
    """Rows of a case for options that take a value; one without a choice leaves it to the shell."""
    for path, flag in valued:
        at = " ".join(path)
        names = "|".join(_quoted(f"{at} {name}") for name in flag.names)
        words = " ".join(flag.choices)
        reply = f'COMPREPLY=($(compgen -W {_quoted(words)} -- "$current"));' if words else ""
        if kind := _kind_of(flag):
            reply = f"_bridle_names {kind};"
        if flag.kind != "optional" or reply:
            yield f"        {names}) {reply} return 0 ;;"


def _kind_of(flag: Flag) -> str:
    return next((COMPLETED_FLAGS[name] for name in flag.names if name in COMPLETED_FLAGS), "")


def _offers(node: _Node) -> str:
    names = [name for flag in node.flags for name in flag.names]
    words = [*(name for each in node.commands for name in (each.name, *each.aliases)), *node.words]
    kind = "-f" if node.files else "-d" if node.folders else ""
    plain = f'COMPREPLY=($(compgen {kind} -W {_quoted(" ".join(words))} -- "$current"))'.replace("  ", " ")
    options = f'COMPREPLY=($(compgen -W {_quoted(" ".join(names))} -- "$current"))'
    plain += f"; _bridle_names {node.names}" if node.names else ""
    return f"if [[ $current == -* ]]; then {options}; else {plain}; fi"


def _zsh() -> str:
    paths: list[str] = []
    options: list[str] = []
    values: list[str] = []
    names: list[str] = []
    for path, node in _nodes(ROOT, ("bridle",)):
        at = " ".join(path)
        named = [(name, each.summary) for each in node.commands for name in (each.name, *each.aliases)]
        words = [f"{name}:{_colons(about)}" for name, about in named] + [f"{word}:" for word in node.words]
        flags = [f"{name}:{_colons(flag.help)}" for flag in node.flags for name in flag.names]
        paths.append(f"    {_quoted(at)} {_quoted(chr(10).join(words))}")
        options.append(f"    {_quoted(at)} {_quoted(chr(10).join(flags))}")
        if node.names:
            names.append(f"    {_quoted(at)} {node.names}")
        for flag in node.flags:
            kind = _kind_of(flag)
            if flag.kind != "switch" and (flag.choices or kind or flag.kind != "optional"):
                choices = _quoted(f"@{kind}" if kind else " ".join(flag.choices) or "*")
                values += [f"    {_quoted(f'{at} {name}')} {choices}" for name in flag.names]
    tables = {
        "_bridle_paths": paths,
        "_bridle_options": options,
        "_bridle_values": values,
        "_bridle_kinds": names,
    }
    filled = [line for name, rows in tables.items() for line in (f"{name}=(", *rows, ")")]
    return "\n".join((_ZSH_BEGIN, *filled, _ZSH_END))


_ZSH_BEGIN = """\
#compdef bridle
# zsh completion for bridle: eval "$(bridle completion zsh)", after compinit
typeset -gA _bridle_paths _bridle_options _bridle_values _bridle_kinds"""
_ZSH_END = """\
_bridle() {
    local at=bridle word i previous=$words[CURRENT-1] choices
    local -a offered
    for ((i = 2; i < CURRENT; i++)); do
        word=$words[i]
        [[ $word == -- ]] && { _files; return }
        (( ${+_bridle_paths[$at $word]} )) && at="$at $word"
    done
    if [[ $PREFIX == --*=* ]]; then previous=${PREFIX%%=*}; compset -P '*='; fi
    choices=${_bridle_values[$at $previous]}
    if [[ $choices == '*' ]]; then
        _files
    elif [[ $choices == @* ]]; then
        offered=("${(@f)$(command bridle --complete ${choices#@} 2>/dev/null)}")
        compadd -- $offered
    elif [[ -n $choices ]]; then
        compadd -- ${=choices}
    elif [[ $PREFIX == -* ]]; then
        offered=("${(@f)_bridle_options[$at]}")
        _describe option offered
    elif [[ -n ${_bridle_kinds[$at]} ]]; then
        offered=("${(@f)$(command bridle --complete ${_bridle_kinds[$at]} 2>/dev/null)}")
        compadd -- $offered
    elif [[ -n ${_bridle_paths[$at]} ]]; then
        offered=("${(@f)_bridle_paths[$at]}")
        _describe command offered
    else
        _files
    fi
}
if [[ $funcstack[1] == _bridle ]]; then _bridle "$@"; else compdef _bridle bridle; fi
"""


def _fish() -> str:
    lines = [
        "# fish completion for bridle: bridle completion fish > ~/.config/fish/completions/bridle.fish",
        "function __bridle_at",
        "    set -l path",
        "    for word in (commandline -opc)[2..-1]",
        "        set -l next (string join -- ' ' $path $word)",
        "        contains -- $next $__bridle_paths; and set path $path $word",
        "    end",
        '    test "$path" = "$argv"',
        "end",
    ]
    nodes = list(_nodes(ROOT, ()))
    paths = " ".join(_fish_quoted(" ".join(path)) for path, _ in nodes if path)
    lines.append(f"set -g __bridle_paths {paths}")
    for path, node in nodes:
        at = f"complete -c bridle -n {_fish_quoted(' '.join(('__bridle_at', *path)))}"
        if path and not (node.files or node.folders):
            lines.append(f"{at} -f")
        for each in node.commands:
            about = _fish_quoted(each.summary)
            lines += [f"{at} -f -a {name} -d {about}" for name in (each.name, *each.aliases)]
        lines += [f"{at} -f -a {word}" for word in node.words]
        lines += [f"{at} -f -a {_looked_up(node.names)}"] if node.names else []
        lines += [f"{at} {_fish_option(flag)}" for flag in node.flags]
    return "\n".join(lines) + "\n"


def _looked_up(kind: str) -> str:
    return _fish_quoted(f"(command bridle --complete {kind} 2>/dev/null)")


def _fish_option(flag: Flag) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names]
    if kind := _kind_of(flag):
        names += ["-r" if flag.kind != "optional" else "-x", f"-f -a {_looked_up(kind)}"]
    elif flag.kind != "switch" and (flag.choices or flag.kind != "optional"):
        names.append("-r")
        names += [f"-f -a {_fish_quoted(' '.join(flag.choices))}"] if flag.choices else ["-F"]
    return f"{' '.join(names)} -d {_fish_quoted(flag.help)}"


def _powershell() -> str:
    return _POWERSHELL


_POWERSHELL = """\
# PowerShell completion for bridle: bridle completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName bridle -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
    & bridle --complete line -- @words "$wordToComplete" 2>$null | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}
"""


def _colons(text: str) -> str:
    return text.replace(":", "\\:")


def _quoted(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_SCRIPTS: Mapping[str, Callable[[], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
    "powershell": _powershell,
}
