"""The text of `--help`."""

from bridle.cli.flags import FLAGS, SUBCOMMANDS

_HEAD = """\
Usage: bridle [options] [prompt]
       bridle -p [options] "prompt"        run a prompt and print the answer
       bridle <command> --help             show help for a command

bridle sends a prompt to a language model, runs the tools it asks for behind a permission gate,
and keeps every conversation on disk.
"""
_TAIL = """
Try it without a key:  bridle -p --model offline "what can you do?"
With a key:            ANTHROPIC_API_KEY=… bridle -p "explain this project"
In a pipe:             git diff | bridle -p "review this change"
"""
_COLUMN = 46
_NARROW = 18


def text() -> str:
    rows = [_row(", ".join(flag.names), flag.value, flag.help) for flag in FLAGS if flag.help]
    commands = [_row(name, "", summary, _NARROW) for name, summary in SUBCOMMANDS.items()]
    return "\n".join((_HEAD, "Commands:", *commands, "", "Options:", *rows, _TAIL))


def _row(names: str, value: str, help: str, column: int = _COLUMN) -> str:
    left = f"  {names} <{value}>" if value else f"  {names}"
    if len(left) >= column:
        return f"{left}\n{'':{column}}{help}"
    return f"{left:{column}}{help}"
