"""Opens the conversation of an agent, and follows it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bridle.engine.runtime import Runtime
from bridle.frontends.tui.app import App
from bridle.frontends.tui.screens.conversation.agent_conversation import AgentConversation
from bridle.frontends.tui.screens.conversation.agent_transcript import agent_messages
from bridle.frontends.tui.screens.conversation.transcript_items import TranscriptItem, passages_of
from bridle.frontends.tui.screens.session.tasks import OpenAgent
from bridle.types.command import CommandResult, Says

_FOLLOW_SECONDS = 1.0


async def open_agent(
    wanted: OpenAgent, *, app: App, runtime: Runtime, do: Callable[[Any], Awaitable[CommandResult]]
) -> Any:
    """Show it until it is closed; returns what it closed with. `do` carries out what is chosen meanwhile."""

    def is_running() -> bool:
        jobs = runtime.workspace.jobs()
        return any(job.id == wanted.id and (job.status == "running" or job.resident) for job in jobs)

    def read() -> tuple[int, bool, list[TranscriptItem]]:
        messages, is_live = agent_messages(runtime, wanted.id), is_running()
        passages = passages_of(messages, unanswered="running" if is_live else "interrupted")
        return len(messages), is_live, passages

    def start(wish: Any) -> None:
        async def work() -> None:
            result = await do(wish)
            if isinstance(result, Says):
                view.tell(result)
            app.redraw()

        app.spawn(work())

    *seen, passages = await asyncio.to_thread(read)
    view = AgentConversation(passages, id=wanted.id, title=wanted.title, do=start, is_running=is_running)

    async def follow(seen: list[Any]) -> None:
        while True:
            await asyncio.sleep(_FOLLOW_SECONDS)
            *now, passages = await asyncio.to_thread(read)
            if now != seen:
                seen = now
                view.show(passages)
                app.redraw()

    following = app.spawn(follow(seen))
    try:
        return await app.open(view)
    finally:
        following.cancel()
