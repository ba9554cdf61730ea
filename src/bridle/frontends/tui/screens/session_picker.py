"""Lets the user choose one of their conversations, and keep them in order meanwhile."""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bridle.frontends.tui.app import App
from bridle.frontends.tui.screens.conversation.resume import (
    DeleteSession,
    LoadSessions,
    RenameSession,
    Resume,
    ResumeContext,
    ResumeView,
    Scope,
    SearchText,
    TagSession,
)
from bridle.frontends.tui.screens.conversation.transcript_items import TranscriptItem, passages_of
from bridle.host.git import repository
from bridle.transcripts import management
from bridle.transcripts.listing import SessionInfo, list_sessions
from bridle.transcripts.origins import origins_of
from bridle.transcripts.text_search import search_text
from bridle.types.errors import SessionError


async def pick_session(app: App, *, cwd: str, env: Mapping[str, str], current: str = "") -> Resume | None:
    """The conversation that the user chooses, and how to resume it; None when they choose none."""
    picking = _Picking(app, cwd, env)
    sessions = await picking.load("here")
    around = ResumeContext(
        cwd=cwd,
        now=time.time(),
        branch=repository.current_branch(cwd),
        worktrees=tuple(await asyncio.to_thread(repository.worktrees, cwd)),
        current=current,
    )
    picking.view = view = ResumeView(
        sessions,
        around,
        preview=picking.preview,
        origins=await picking.origins(sessions),
        do=picking.do,
    )
    try:
        chosen: Any = await app.open(view)
    finally:
        picking.close()
    return chosen if isinstance(chosen, Resume) else None


class _Picking:
    def __init__(self, app: App, cwd: str, env: Mapping[str, str]) -> None:
        self._app = app
        self._cwd = cwd
        self._env = env
        self._scope: Scope = "here"
        self._searched: SearchText | None = None
        self._is_closed = False
        self.view: ResumeView | None = None

    async def load(self, scope: Scope) -> list[SessionInfo]:
        self._scope = scope
        directory = None if scope == "all" else self._cwd
        return await asyncio.to_thread(
            list_sessions, self._env, directory=directory, include_worktrees=scope != "here"
        )

    async def origins(self, sessions: Sequence[SessionInfo]) -> Mapping[str, str]:
        return await asyncio.to_thread(origins_of, [each.session_id for each in sessions], self._env)

    def preview(self, info: SessionInfo) -> list[TranscriptItem]:
        try:
            said = management.messages(info.session_id, self._env, directory=info.cwd)
        except (SessionError, OSError):
            return []
        return passages_of([each.message for each in said])

    def do(self, wish: Any) -> None:
        """Change a conversation or the list, then show the list as it is now; or search."""
        if isinstance(wish, SearchText):
            self._app.spawn(self._search(wish))
            return

        async def work() -> None:
            scope = wish.scope if isinstance(wish, LoadSessions) else self._scope
            with contextlib.suppress(SessionError, OSError):
                # Where it fails, the list that is read again shows that nothing has changed.
                await asyncio.to_thread(self._change, wish)
            if self.view is not None:
                sessions = await self.load(scope)
                self.view.show(sessions, scope, await self.origins(sessions))
            self._app.redraw()

        self._app.spawn(work())

    async def _search(self, wish: SearchText) -> None:
        """Look at the text of the conversations, until something else is searched for."""
        self._searched = wish
        found = await asyncio.to_thread(
            search_text,
            wish.query,
            wish.sessions,
            self._env,
            is_over=lambda: self._is_closed or self._searched is not wish,
        )
        if found and self.view is not None:
            self.view.show_found(wish.query, found)
            self._app.redraw()

    def close(self) -> None:
        """Stop what still searches."""
        self._is_closed = True

    def _change(self, wish: Any) -> None:
        match wish:
            case RenameSession(session_id=session_id, title=title):
                management.rename(session_id, title, self._env)
            case TagSession(session_id=session_id, word=word):
                management.tag(session_id, word, self._env)
            case DeleteSession(session_id=session_id):
                management.delete(session_id, self._env)
            case _:
                pass
