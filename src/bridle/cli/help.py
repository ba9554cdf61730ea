"""The text of `--help`."""

from bridle.cli.flags import FLAGS

_HEAD = """\
Usage: bridle [options] [prompt]
       bridle -p [options] "prompt"        run a prompt and print the answer
       bridle config <command>             look at and change settings
       bridle policy why '<call>'          why a call would be allowed, asked about or denied
       bridle trust                        say that this folder may bring settings that run
       bridle schedules                    see and approve the scheduled prompts of this folder
       bridle hooks list|test|lint         look at hooks and try them
       bridle plugin <command>             install plugins and look after them
       bridle agents                       sessions that run, in the background and at terminals
       bridle attach|logs|stop|respawn|rm  look after one session in the background
       bridle merge [branch ...]           bring branches of agents together, each tested on top of the others
       bridle doctor [security]            check the installation and the settings, or what protects you
       bridle models, local, auth          which models there are, here and elsewhere, and their keys
       bridle remote-control               let browsers elsewhere start and steer sessions of this folder
       bridle remote <command>             name sessions on other machines that yours may write to
       bridle record|replay                a run with a model once, then again without one
       bridle auto-mode <command>          the rules of the model that judges calls in auto mode

bridle sends a prompt to a language model, runs the tools it asks for behind a permission gate,
and keeps every conversation on disk.

Options:
"""
_TAIL = """
Try it without a key:  bridle -p --model offline "what can you do?"
With a key:            ANTHROPIC_API_KEY=… bridle -p "explain this project"
In a pipe:             git diff | bridle -p "review this change"
"""
_COLUMN = 46


def text() -> str:
    rows = [_row(", ".join(flag.names), flag.value, flag.help) for flag in FLAGS if flag.help]
    return _HEAD + "\n".join(rows) + "\n" + _TAIL


def _row(names: str, value: str, help: str) -> str:
    left = f"  {names} <{value}>" if value else f"  {names}"
    if len(left) >= _COLUMN:
        return f"{left}\n{'':{_COLUMN}}{help}"
    return f"{left:{_COLUMN}}{help}"
