"""The team of a session: its members, their instructions, and what happens when one is done."""

import asyncio

from bridle.engine.turn import Turn
from bridle.tools.tasks.stored_lists import folder_of, read_items
from bridle.types.hooks.events import TaskCompleted, TeammateIdle

_MOST_CHECKS = 8
"""How often hooks may send a member back to work."""

_WORDS = """

# Your team
You are `{name}` in the team `{team}`. `main` leads it. SendMessage reaches `main`, the other members by \
their names, and with `*` all running members. ListAgents lists them. What you write outside of calls is \
read only by `main`, when you are done. The task list is shared: TaskList shows what is open, and \
TaskUpdate with your name as owner assigns an item to you. After you have ended, a message resumes you with \
all you know now."""


def member_words(name: str, team: str) -> str:
    """The end of the system prompt of a member."""
    return _WORDS.format(name=name, team=team)


class IdleCheck:
    """Asks hooks whether a member may stop, a limited number of times."""

    def __init__(self, lead: Turn, name: str, team: str) -> None:
        self._lead = lead
        self._name = name
        self._team = team
        self._left = _MOST_CHECKS

    async def objection(self) -> str | None:
        """Why the member must continue; None when it may stop."""
        if self._left <= 0:
            return None
        found = await self._unfinished() or await self._idle()
        self._left -= found is not None
        return found

    async def _unfinished(self) -> str | None:
        """Run the TaskCompleted hooks for the tasks of the member."""
        hooks = self._lead.runtime.hooks
        if not hooks.listens_to("TaskCompleted"):
            return None
        folder = folder_of(self._lead.session.id, self._lead.runtime.env)
        for item in await asyncio.to_thread(read_items, folder):
            if item["status"] != "in_progress" or item.get("owner") != self._name:
                continue
            said = await hooks.fire(
                TaskCompleted(
                    task_id=item["id"],
                    task_subject=item["subject"],
                    task_description=item["description"],
                    teammate_name=self._name,
                    team_name=self._team,
                )
            )
            if said.block is not None:
                return f"Task #{item['id']} is not done yet: {said.block}"
        return None

    async def _idle(self) -> str | None:
        hooks = self._lead.runtime.hooks
        if not hooks.listens_to("TeammateIdle"):
            return None
        return (await hooks.fire(TeammateIdle(teammate_name=self._name, team_name=self._team))).block
