"""What a slash command is: a name with a source, and what running it leads to."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

from bridle.types.block import UserBlock
from bridle.types.origin import Origin
from bridle.types.permission import Rule
from bridle.types.slash import SlashLine

Reach = Literal["keyboard", "person", "anyone"]
"""Who may call a command: the user of this machine, also a person who steers the session from elsewhere, or
anything that can put a prompt into the session (schedules, hooks, files), as the model itself could."""

CommandSource = Literal["builtin", "bundled", "managed", "user", "project", "plugin", "mcp", "package"]


class Asks(Struct, frozen=True, kw_only=True, tag="asks"):
    """The command stands for a prompt: this goes to the model, in a turn of its own."""

    content: str | list[UserBlock]
    shown: str
    """What the user sees of it: the command as it was typed."""
    rules: tuple[Rule, ...] = ()
    """What is allowed for the length of the turn."""
    model: str | None = None
    effort: str | None = None
    agent: str | None = None
    """Run in an agent of its own of this type, instead of in the conversation."""
    background: bool = False
    """The agent works while the conversation continues."""


class Says(Struct, frozen=True, tag="says"):
    """The command is done; this is what it has to say, to the user and not to the model."""

    text: str = ""
    is_error: bool = False


class Shows(Struct, frozen=True, kw_only=True, tag="shows"):
    """The command opens a view; `text` says the same where there is no screen."""

    view: str
    arguments: str = ""
    text: str = ""


class Resets(Struct, frozen=True, kw_only=True, tag="resets"):
    """The conversation is another one from here on."""

    session_id: str | None = None
    """The conversation to continue; None for a new one."""
    trigger: Literal["clear", "resume", "branch", "rewind"] = "clear"
    name: str | None = None


class Exits(Struct, frozen=True, tag="leaves"):
    """The program ends."""


CommandResult = Asks | Says | Shows | Resets | Exits


class Command(Struct, frozen=True, kw_only=True):
    name: str
    """Without the slash; plugin and folder names come first, joined by colons."""
    description: str
    run: Callable[[str, Any], Awaitable[CommandResult]]
    """Called with the rest of the line and the context that the layer of commands defines."""
    source: CommandSource = "builtin"
    origin: str = ""
    """The file, plugin or server that it comes from."""
    argument_hint: str = ""
    aliases: tuple[str, ...] = ()
    complete: Callable[[str], tuple[str, ...]] | None = None
    """Arguments that fit what was typed so far."""
    reach: Reach = "keyboard"
    screen_only: bool = False
    hidden: bool = False
    at_once: bool = False
    """Runs also while a turn does."""
    yields: bool = False
    """Gives way to a skill or command file of the same name."""
    tokens: int = 0
    """What its mention costs in every request."""

    about: str = ""
    """What hosts read in the place of `description`, which is short."""
    title: str = ""
    """The name that hosts show, where a file gives itself another one than its folder."""

    def listing(self) -> Mapping[str, Any]:
        """The command as it is listed for hosts: where it comes from stands in the description."""
        names = dict.fromkeys((self.title or self.name, *self.aliases, self.name))
        name, *others = names
        text = self.about or self.description
        if self.source == "plugin":
            text = f"({self.origin_plugin}) {text}" if self.origin_plugin else text
        elif self.source in ("user", "project"):
            text = f"{text} ({self.source})"
        listed: dict[str, Any] = {"name": name, "description": text, "argumentHint": self.argument_hint}
        if others:
            listed["aliases"] = others
        if self.source in ("builtin", "bundled"):
            listed["builtin"] = True
        return listed

    @property
    def origin_plugin(self) -> str:
        """The plugin that it belongs to, by the first part of its name."""
        plugin, colon, _ = self.name.partition(":")
        return plugin if self.source == "plugin" and colon else ""


def may_call(command: Command, origin: Origin) -> bool:
    """Whether words from there may call this command; for all others they are text."""
    if origin.is_own or command.reach == "anyone":
        return True
    return command.reach == "person" and origin.is_person


class Commands(Protocol):
    """The commands of a session; they may change while it runs."""

    def all(self) -> tuple[Command, ...]: ...

    def find(self, name: str) -> Command | None:
        """A command by its name or one of its other names."""
        ...

    def nearest(self, name: str) -> str | None:
        """The name that was probably meant."""
        ...


def find_command(slashed: SlashLine, commands: Commands) -> Command | None:
    """The command of that name, as it was written or in plain letters."""
    return commands.find(slashed.name) or commands.find(slashed.plain)
