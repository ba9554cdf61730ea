"""A feature: one capability of a session as a value, with every moment at which it may act.

The engine names no feature. It calls each of them at these moments, in the order in which they were opened.
"""

import operator
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bridle.engine.lazy_feature import FeatureList, LazyFeature
from bridle.types.services.service import Offered, Service

if TYPE_CHECKING:
    from bridle.config.load import Config
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.permissions.gate import AllowedCall
    from bridle.engine.runtime import Runtime
    from bridle.engine.turn import Turn
    from bridle.permissions.preparation import SessionPosition
    from bridle.transcripts.session import Session
    from bridle.types.channel import Channel
    from bridle.types.command import Command
    from bridle.types.model import Provider
    from bridle.types.permission import Case, Decision, Rule
    from bridle.types.question import PermissionQuestion
    from bridle.types.tool import Tool, Toolbox, ToolContext, ToolOutput
    from bridle.types.turn import Outcome, Prompt


SideTask = Callable[["Session", "Runtime", "Outcome"], Awaitable[None]]
"""Work after a turn that no one waits for."""


class Notes(Struct, frozen=True):
    """What was recorded about a conversation while it ran."""

    text: str
    up_to: str
    """The last entry that they cover."""


class RunningCall(Struct, frozen=True, kw_only=True):
    """A call that the gate let through."""

    turn: "Turn"
    tool: "Tool"
    allowed: "AllowedCall"

    @property
    def written(self) -> tuple[str, ...]:
        """Files that it changes, as absolute paths."""
        return self.allowed.case.access.writes


class Feature:
    """Does nothing at any moment; a feature overrides those that matter to it."""

    name = ""

    def part(self, key: Service[Any]) -> Any:
        """What it offers to commands and hosts under a key; None for keys of others."""
        del key

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        """What it offers to the tool of a call under a key."""
        del call, turn
        return self.part(key)

    def tools(self) -> "Sequence[Tool]":
        """The tools that it brings; the same object until they change."""
        return ()

    def enabled_tools(self) -> frozenset[str]:
        """Built-in tools that need this feature and can be used now."""
        return frozenset()

    def commands(self) -> "Sequence[Command]":
        """The slash commands that it brings."""
        return ()

    def listing(self, tools: Collection[str]) -> str | None:
        """What the model can choose from, listed when a conversation with these tools begins."""
        del tools

    def agent_listing(self, tools: Collection[str]) -> str | None:
        """What an agent with these tools can choose from, listed when it begins."""
        del tools

    def toolbox(self, toolbox: "Toolbox") -> "Toolbox":
        """The tools of the session, perhaps fewer; asked once, when it is put together."""
        return toolbox

    def channel(self, channel: "Channel") -> "Channel":
        """What the session reports to and asks, perhaps with something in between."""
        return channel

    def provider(self, provider: "Provider") -> "Provider":
        """What answers the session, perhaps with something in between."""
        return provider

    async def open(self) -> None:
        """The session is put together, and takes no prompts yet."""

    async def begin(self) -> None:
        """The session begins to take prompts."""

    async def attach(self, turn: "Turn", prompt: "Prompt") -> "Prompt":
        """The prompt of a turn, with what belongs beside it."""
        del turn
        return prompt

    def mention(self, name: str) -> str | None:
        """What the user means who names this with `@`, where it is no file."""
        del name

    def work(self) -> None:
        """A turn begins."""

    def rest(self) -> None:
        """No turn runs and none waits."""

    def begin_turn(self, turn: "Turn") -> None:
        """A turn of this thread begins."""
        del turn

    def before_step(self, turn: "Turn") -> None:
        """The model is about to be asked; the place for reminders and for another model."""
        del turn

    def more_work(self, turn: "Turn") -> str | None:
        """Why the turn should continue although the model has answered."""
        del turn

    def after_turn(self, turn: "Turn", outcome: "Outcome") -> None:
        """The turn has reported its outcome; nothing waits for what begins here."""
        del turn, outcome

    def side_tasks(self) -> "Mapping[str, SideTask]":
        """What to do after turns in the background, by name."""
        return {}

    def notes(self, turn: "Turn") -> Notes | None:
        """Notes that can stand for a conversation up to one of its entries."""
        del turn

    def restore(self, turn: "Turn") -> Sequence[str | None]:
        """Text for the model that must be repeated after a compaction."""
        del turn
        return ()

    def reminder(self, session: "Session") -> str | None:
        """Text to add to a conversation before its next step, once."""
        del session

    def expect_call(self, tool: str) -> None:
        """The model writes a call of this tool: what it needs may be loaded meanwhile."""
        del tool

    async def before_decision(self, tool: "Tool") -> None:
        """A call of this tool is about to be decided about."""
        del tool

    def complete_call(self, tool: str, call: "Call", input: Any, turn: "Turn") -> "Call":
        """The call with the input that hooks, rules, people and the tool see."""
        del tool, input, turn
        return call

    def refuse_tool(self, name: str) -> str | None:
        """Why a tool that the session does not offer cannot be used, where this feature knows."""
        del name

    def describe_call(self, tool: str, call: "Call", turn: "Turn") -> str | None:
        """What a call would do, for a person who is to approve it; None where its input says all."""
        del tool, call, turn

    def standing(self, turn: "Turn", standing: "SessionPosition") -> "SessionPosition":
        """What permissions are decided by."""
        del turn
        return standing

    def rules(self, tool: "Tool", subject: str) -> "Sequence[Rule]":
        """Permission rules that count for one call only."""
        del tool, subject
        return ()

    async def review(self, turn: "Turn", case: "Case", decision: "Decision") -> "Decision":
        """What is decided about a call, perhaps reviewed."""
        del turn, case
        return decision

    def question(self, turn: "Turn", tool: "Tool", question: "PermissionQuestion") -> "PermissionQuestion":
        """How a person is asked about a call."""
        del turn, tool
        return question

    async def before_call(self, running: RunningCall, context: "ToolContext") -> "ToolContext":
        """A call is about to run: what its tool works with."""
        del running
        return context

    def around_call(self, running: RunningCall) -> AbstractAsyncContextManager[None] | None:
        """Holds while the call runs; None for nothing."""
        del running

    def after_call(self, running: RunningCall, output: "ToolOutput") -> "ToolOutput":
        """The call has run: its output as hooks and the model get it."""
        del running
        return output

    def settle(self, running: RunningCall) -> None:
        """The call has succeeded, and hooks have had their say."""
        del running

    def remarks(self) -> Sequence[str]:
        """What the model reads behind the result of a call."""
        return ()

    def end_turn(self) -> Sequence[str]:
        """A turn is over, whatever its end; what the user should be warned of."""
        return ()

    async def skill_called(self, name: str) -> None:
        """A skill begins to count."""
        del name

    def move_to_background(self, call_id: str | None = None) -> int:
        """The user does not want to wait for calls, or for one: how many continue in the background."""
        del call_id
        return 0

    def interrupt(self) -> int:
        """The user wants quiet: begin to end what runs in the background; how many there are."""
        return 0

    def reconfigure(self, before: "Config", now: "Config") -> None:
        """The settings have changed."""
        del before, now

    async def reload(self) -> None:
        """Settings and plugins were read again."""

    def follow(self) -> None:
        """The session continues with another conversation."""

    def for_agent(self, work: "Assignment") -> "Feature | None":
        """This feature for an agent of the session; None, which is the default, where an agent has none."""
        del work

    def for_hook_agent(self) -> "Feature | None":
        """This feature for an agent that judges for a hook and may only read; None where it has none."""

    def owes_turn(self) -> bool:
        """Whether work runs whose end will begin a turn."""
        return False

    async def wait_for_more(self, seconds: float, say: Callable[[str], None]) -> bool:
        """The last prompt is done: wait until work may have given more to do; False if there is none."""
        del seconds, say
        return False

    async def close(self) -> None:
        """The session ends."""

    async def release(self) -> None:
        """Every feature is closed and hooks know of the end: release what they worked with to the last."""


class Features:
    """The features of a session or of an agent."""

    def __init__(
        self, members: Sequence[Feature | LazyFeature] = (), *, borrowed: Sequence[Feature] = ()
    ) -> None:
        self._members = FeatureList(members)
        self._borrowed = tuple(borrowed)
        """Those that the session closes, not the agent that these are for."""
        self._acting: dict[str, tuple[Feature, ...]] = {}
        self._brought: tuple[Sequence[Tool], ...] = ()
        self._tools: Sequence[Tool] = ()

    def __iter__(self) -> Iterator[Feature]:
        self._open(lambda _: True)
        return iter(self._members.features)

    def _open(self, concerns: Callable[[LazyFeature], bool]) -> None:
        if self._members.open(concerns):
            self._acting.clear()

    def without(self, *names: str) -> "Features":
        """All but the features of these names, closed by others."""
        return Features([each for each in self if each.name not in names], borrowed=self._members.features)

    def find(self, key: Service[Offered]) -> Offered | None:
        """What a feature offers to commands and hosts."""
        self._open(lambda lazy: key.name in lazy.keys)
        return next((found for each in self.at("part") if (found := each.part(key)) is not None), None)

    def offered(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        """What a feature offers to the tool of a call."""
        self._open(lambda lazy: key.name in lazy.keys)
        found = (each.offer(key, call, turn) for each in self._members.features)
        return next((each for each in found if each is not None), None)

    def at(self, moment: str) -> tuple[Feature, ...]:
        """The features that act at a moment: most of them do nothing at most moments."""
        acting = self._acting.get(moment)
        if acting is None:
            self._open(lambda lazy: moment in lazy.at)
            default = getattr(Feature, moment)
            acting = tuple(
                each for each in self._members.features if getattr(type(each), moment) is not default
            )
            self._acting[moment] = acting
        return acting

    def tools(self) -> "Sequence[Tool]":
        """The tools that features bring; the same object until they change."""
        brought = tuple(each.tools() for each in self.at("tools"))
        if not all(map(operator.is_, brought, self._brought)) or len(brought) != len(self._brought):
            self._brought = brought
            self._tools = tuple(tool for each in brought for tool in each)
        return self._tools

    def enabled_tools(self) -> frozenset[str]:
        """Built-in tools that need a feature and can be used now."""
        return frozenset().union(*(each.enabled_tools() for each in self.at("enabled_tools")))

    def commands(self) -> "Sequence[Command]":
        """The slash commands that features bring; no file takes the name of one that is built in."""
        brought = [command for each in self.at("commands") for command in each.commands()]
        return sorted(brought, key=lambda command: command.source != "builtin")

    def listings(self, toolbox: "Toolbox") -> tuple[Callable[[], str | None], ...]:
        """Listings for a model with these tools when a conversation begins, looked up again by each call."""
        return tuple(partial(_listed, each, toolbox) for each in self.at("listing"))

    def agent_listings(self, toolbox: "Toolbox") -> tuple[Callable[[], str | None], ...]:
        """Listings for an agent with these tools when it begins, looked up again by each call."""
        return tuple(partial(_listed_for_agent, each, toolbox) for each in self.at("agent_listing"))

    def refuse_tool(self, name: str) -> str | None:
        """Why a tool that the session does not offer cannot be used."""
        return next((why for each in self.at("refuse_tool") if (why := each.refuse_tool(name))), None)

    def describe_call(self, tool: str, call: "Call", turn: "Turn") -> str | None:
        """What a call would do, where a feature can say more than its input does."""
        acting = self.at("describe_call")
        return next((words for each in acting if (words := each.describe_call(tool, call, turn))), None)

    def toolbox(self, toolbox: "Toolbox") -> "Toolbox":
        for each in self.at("toolbox"):
            toolbox = each.toolbox(toolbox)
        return toolbox

    def mention(self, name: str) -> str | None:
        """What the user means who names this with `@`."""
        return next((meant for each in self.at("mention") if (meant := each.mention(name))), None)

    def expect_call(self, tool: str) -> None:
        for each in self.at("expect_call"):
            each.expect_call(tool)

    async def before_decision(self, tool: "Tool") -> None:
        for each in self.at("before_decision"):
            await each.before_decision(tool)

    def complete_call(self, tool: str, call: "Call", input: Any, turn: "Turn") -> "Call":
        for each in self.at("complete_call"):
            call = each.complete_call(tool, call, input, turn)
        return call

    def move_to_background(self, call_id: str | None = None) -> int:
        """Move calls that are waited for, or one of them, to the background; how many there were."""
        return sum(each.move_to_background(call_id) for each in self.at("move_to_background"))

    def owe_turn(self) -> bool:
        """Whether work runs whose end will begin a turn."""
        return any(each.owes_turn() for each in self.at("owes_turn"))

    async def wait_for_more(self, seconds: float, say: Callable[[str], None]) -> bool:
        """Whether a feature has waited for work that may have given the session more to do."""
        for each in self.at("wait_for_more"):
            if await each.wait_for_more(seconds, say):
                return True
        return False

    def interrupt(self) -> int:
        """Begin to end what runs in the background; how many there are."""
        return sum(each.interrupt() for each in self.at("interrupt"))

    def channel(self, channel: "Channel") -> "Channel":
        for each in self.at("channel"):
            channel = each.channel(channel)
        return channel

    def provider(self, provider: "Provider") -> "Provider":
        for each in self.at("provider"):
            provider = each.provider(provider)
        return provider

    def more_work(self, turn: "Turn") -> str | None:
        """The first reason to continue."""
        reasons = (each.more_work(turn) for each in self.at("more_work"))
        return next((reason for reason in reasons if reason is not None), None)

    def notes(self, turn: "Turn") -> Notes | None:
        found = (each.notes(turn) for each in self.at("notes"))
        return next((notes for notes in found if notes is not None), None)

    def restored(self, turn: "Turn") -> list[str]:
        """Text for the model that must be repeated after a compaction."""
        return [text for each in self.at("restore") for text in each.restore(turn) if text is not None]

    def standing(self, turn: "Turn", standing: "SessionPosition") -> "SessionPosition":
        for each in self.at("standing"):
            standing = each.standing(turn, standing)
        return standing

    def rules(self, tool: "Tool", subject: str) -> "tuple[Rule, ...]":
        return tuple(rule for each in self.at("rules") for rule in each.rules(tool, subject))

    async def review(self, turn: "Turn", case: "Case", decision: "Decision") -> "Decision":
        for each in self.at("review"):
            decision = await each.review(turn, case, decision)
        return decision

    def question(self, turn: "Turn", tool: "Tool", question: "PermissionQuestion") -> "PermissionQuestion":
        for each in self.at("question"):
            question = each.question(turn, tool, question)
        return question

    def reminders(self, session: "Session") -> list[str]:
        """Text to add to a conversation before its next step."""
        return [text for each in self.at("reminder") if (text := each.reminder(session)) is not None]

    async def attach(self, turn: "Turn", prompt: "Prompt") -> "Prompt":
        for each in self.at("attach"):
            prompt = await each.attach(turn, prompt)
        return prompt

    async def before_call(self, running: RunningCall, context: "ToolContext") -> "ToolContext":
        for each in self.at("before_call"):
            context = await each.before_call(running, context)
        return context

    @asynccontextmanager
    async def around_call(self, running: RunningCall) -> AsyncGenerator[None]:
        acting = self.at("around_call")
        if not acting:
            yield
            return
        async with AsyncExitStack() as stack:
            for each in acting:
                if (held := each.around_call(running)) is not None:
                    await stack.enter_async_context(held)
            yield

    def after_call(self, running: RunningCall, output: "ToolOutput") -> "ToolOutput":
        for each in self.at("after_call"):
            output = each.after_call(running, output)
        return output

    def remarks(self) -> tuple[str, ...]:
        return tuple(line for each in self.at("remarks") for line in each.remarks())

    def end_turn(self) -> tuple[str, ...]:
        return tuple(line for each in self.at("end_turn") for line in each.end_turn())

    def for_agent(self, work: "Assignment") -> "Features":
        """What an agent inherits, as each feature says."""
        own = [made for each in self if (made := each.for_agent(work)) is not None]
        return Features(own, borrowed=self._members.features)

    def for_hook_agent(self) -> "Features":
        """What an agent that judges for a hook inherits, as each feature says."""
        own = [made for each in self.at("for_hook_agent") if (made := each.for_hook_agent()) is not None]
        return Features(own, borrowed=self._members.features)

    async def close(self) -> None:
        """Close each, the last opened first."""
        for each in reversed(self.at("close")):
            if each not in self._borrowed:
                await each.close()

    async def release(self) -> None:
        """Release what was kept to the last, that of the last opened first."""
        for each in reversed(self.at("release")):
            await each.release()


def _listed(feature: Feature, toolbox: "Toolbox") -> str | None:
    return feature.listing(toolbox.names())


def _listed_for_agent(feature: Feature, toolbox: "Toolbox") -> str | None:
    return feature.agent_listing(toolbox.names())
