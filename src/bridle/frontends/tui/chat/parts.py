"""What a conversation is shown with."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.frontends.tui.chat.agent_rows import AgentRows
from bridle.frontends.tui.chat.channel import TerminalChannel
from bridle.frontends.tui.chat.dialog_queue import DialogQueue
from bridle.frontends.tui.chat.progress import TurnProgress
from bridle.frontends.tui.chat.status_line import StatusCommand
from bridle.frontends.tui.chat.turn import TurnView
from bridle.frontends.tui.editing.input_area import InputArea
from bridle.frontends.tui.render.status import Status
from bridle.frontends.tui.terminal.keys import Answer
from bridle.frontends.tui.terminal.notifications import Notifier

if TYPE_CHECKING:
    from bridle.frontends.tui.chat.footer_links import FooterLinks


class ChatParts(Struct, frozen=True, kw_only=True):
    """What the conversation is shown with."""

    live: TurnView
    work: TurnProgress
    input: InputArea
    notifier: Notifier
    channel: TerminalChannel
    questioner: DialogQueue
    status: Callable[[], Status]
    status_command: StatusCommand | None = None
    agent_rows: AgentRows | None = None
    """A command that writes the rows of agents in the background, where there is one."""
    on_answer: Callable[[Answer], None] = lambda _: None
    """Called with what the terminal reports about itself."""
    transcript: Callable[[], Awaitable[None]]
    """Opens the whole conversation."""
    links: "FooterLinks | None" = None
    """Links for what the conversation mentions."""
    titles_from_names: bool = True
    """Whether the terminal's title shows the name of the session."""
