"""Interprets a prompt before a turn begins: runs its slash commands."""

import asyncio

from msgspec.structs import replace

from bridle.commands.context import CommandContext
from bridle.commands.delegation import run_apart, runs_apart
from bridle.commands.invocation import Invocation, read_invocation
from bridle.commands.session_switch import move
from bridle.engine.hooks.turn_hooks import fire_user_prompt_expansion
from bridle.engine.loop import record_prompt
from bridle.engine.turn import Ending, Turn
from bridle.providers import catalog
from bridle.types.block import UserBlock, text_block, text_of
from bridle.types.command import Asks, Command, CommandResult, Exits, Resets, Says, Shows, may_call
from bridle.types.errors import BridleError
from bridle.types.event import CommandReplied, TurnStarted
from bridle.types.ids import new_uuid
from bridle.types.origin import sender_named
from bridle.types.services.mcp import normalized
from bridle.types.slash import read_slash_line
from bridle.types.turn import Outcome, Prompt

_LONGEST_CONNECTING = 600.0
"""Seconds; a server that does not come has failed long before, by its own limit."""
_LONGEST_KEPT = 10_000
_LONGEST_ANSWER = 30_000


class CommandInterpreter:
    """Runs slash commands for one session; a front end hands it to its server."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context

    def may_join(self, prompt: Prompt) -> bool:
        """Whether a prompt may join a turn that runs: commands wait for a turn of their own."""
        return read_invocation(prompt, self._context.commands) is None

    async def interpret(self, prompt: Prompt) -> Prompt | Outcome:
        """The prompt that a command stands for, the outcome of one that does it all, or the prompt itself."""
        invocation = read_invocation(prompt, self._context.commands)
        if invocation is None and await self._knows_more(prompt):
            invocation = read_invocation(prompt, self._context.commands)
        if invocation is None:
            return prompt
        turn = Turn(self._context.session, prompt, self._context.runtime)
        opening = _Opening(turn)
        context = replace(self._context, called_by=prompt, begin=opening.begin)
        try:
            result = await run(invocation, context)
            if isinstance(result, Asks) and not runs_apart(result, context):
                return prompt_for(result, prompt, context)
            text, is_error = await _settle(result, invocation, context, prompt)
        except asyncio.CancelledError:
            opening.begin()
            turn.finish(
                Ending.failed("aborted_tools", "error_during_execution", "The command was interrupted.")
            )
            raise
        opening.begin()
        if text:
            context.runtime.channel.emit(CommandReplied(text, is_error))
        return turn.finish(Ending("command", text=text, is_error=is_error))

    async def _knows_more(self, prompt: Prompt) -> bool:
        """Whether the name could be that of a server's prompt or skill, once the servers have answered."""
        servers = self._context.runtime.servers
        slashed = read_slash_line(text_of(prompt.content))
        if slashed is None:
            return False
        if not slashed.plain.startswith("mcp__") and ":" not in slashed.plain:
            return False
        await servers.settle()
        # Without the server that is named the words would go to the model as they stand.
        named = [state.name for state in servers.status() if _is_of(slashed.plain, state.name)]
        await servers.ready(named, _LONGEST_CONNECTING)
        await servers.listed(named)
        return True


def _is_of(name: str, server: str) -> bool:
    """Whether the name of a command is one that this server would give it."""
    return name.startswith((f"mcp__{normalized(server)}__", f"{server}:"))


async def run(invocation: Invocation, context: CommandContext) -> CommandResult:
    """Run the command; errors that a person can fix are reported."""
    if (refused := _refused(invocation, context)) is not None:
        return refused
    if invocation.commands[0].screen_only and not context.screen:
        name = invocation.commands[0].name
        return Says(f"/{name} needs the terminal: start bridle without -p.", is_error=True)
    try:
        results = [await _expanded(command, invocation, context) for command in invocation.commands]
    except BridleError as error:
        return Says(str(error), is_error=True)
    except OSError as error:
        return Says(f"{error.filename or 'A file'}: {error.strerror or error}", is_error=True)
    return results[0] if len(results) == 1 else _joined(results, invocation)


def _refused(invocation: Invocation, context: CommandContext) -> Says | None:
    """What is said to a command that came from where it may not be called; it is not run."""
    origin = context.origin
    barred = next((each for each in invocation.commands if not may_call(each, origin)), None)
    whence = sender_named(origin)
    if barred is None and not _has_own_arguments(invocation, context.called_by):
        # The user named the command, and a pipe would say what it does.
        barred = next((each for each in invocation.commands if each.reach == "keyboard"), None)
        whence = "piped input"
    if barred is None:
        return None
    return Says(
        f"/{barred.name} was not run: {whence} requested it, and it only runs from this machine's "
        "keyboard. Type it there to run it.",
        is_error=True,
    )


def _has_own_arguments(invocation: Invocation, prompt: Prompt) -> bool:
    """Whether all that stands behind the name comes from the caller of the command."""
    text = text_of(prompt.content)
    return prompt.origin.words is None or invocation.arguments in prompt.origin.own_words(text)


def prompt_for(asks: Asks, prompt: Prompt, context: CommandContext) -> Prompt:
    """The prompt that a command stands for."""
    own = context.settings.config().raw.get("bridleModels")
    return replace(
        prompt,
        content=asks.shown,
        beside=(*_blocks(asks), *prompt.beside),
        rules=(*prompt.rules, *asks.rules),
        model=None if asks.model in (None, "inherit") else catalog.resolve(asks.model, context.env, own=own),
        effort=asks.effort,
    )


class _Opening:
    """Reports the start of a turn once, before the first report."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._begun = False

    def begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        turn, runtime = self._turn, self._turn.runtime
        runtime.channel.emit(
            TurnStarted(
                model=turn.session.state.model,
                tools=runtime.toolbox.names(),
                mode=turn.session.state.mode,
                cwd=runtime.workspace.cwd,
                prompt=turn.prompt.content,
                uuid=turn.prompt.uuid or new_uuid(),
                prompt_uuid=turn.prompt.uuid,
            )
        )


async def _expanded(command: Command, invocation: Invocation, context: CommandContext) -> CommandResult:
    """Run one command; where it stands for a prompt, hooks may refuse that or add to it."""
    result = await command.run(invocation.arguments, context)
    if not isinstance(result, Asks):
        return result
    said = await fire_user_prompt_expansion(
        context.runtime.hooks,
        name=command.name,
        arguments=invocation.arguments,
        prompt=invocation.typed,
        source=command.source,
        kind="mcp_prompt" if command.source == "mcp" else "slash_command",
    )
    if said.block is not None:
        return Says(f"A hook blocked /{command.name}: {said.block}", is_error=True)
    more = (*map(text_block, said.context), *invocation.rest)
    return replace(result, content=[*_blocks(result), *more]) if more else result


def _joined(results: list[CommandResult], invocation: Invocation) -> CommandResult:
    """Several skills as one prompt, in their order; what is not a prompt stands for all."""
    asked: list[Asks] = []
    for result in results:
        if not isinstance(result, Asks):
            return result
        asked.append(result)
    return Asks(
        content=[block for each in asked for block in _blocks(each)],
        shown=invocation.typed,
        rules=tuple(rule for each in asked for rule in each.rules),
        model=next((each.model for each in asked if each.model is not None), None),
        effort=next((each.effort for each in asked if each.effort is not None), None),
    )


async def _settle(
    result: CommandResult, invocation: Invocation, context: CommandContext, prompt: Prompt
) -> tuple[str, bool]:
    """Do what a command leads to where there is no screen; what to say, and whether it is a failure."""
    match result:
        case Asks():
            return await _run_apart(result, invocation, context)
        case Says():
            _keep(invocation, result.text, context)
            return result.text, result.is_error
        case Shows():
            _keep(invocation, result.text, context)
            return result.text, False
        case Resets():
            return await move(result, context, prompt_uuid=prompt.uuid), False
        case Exits():
            context.leave()
            return "", False


async def _run_apart(asks: Asks, invocation: Invocation, context: CommandContext) -> tuple[str, bool]:
    """Run it in an agent; the conversation continues with its answer."""
    context.begin()
    try:
        text = await run_apart(asks, context)
    except BridleError as error:
        return str(error), True
    answer = text_block(f"<command-output>\n{text[:_LONGEST_ANSWER]}\n</command-output>")
    kept = Prompt(content=invocation.typed, origin=context.origin, beside=(answer,))
    record_prompt(context.session, kept, context.runtime)
    return text, False


def _keep(invocation: Invocation, text: str, context: CommandContext) -> None:
    """Note the command in a conversation that has begun, for people who read it later; no model sees it."""
    if not context.session.entries:
        return
    name = invocation.commands[0].name
    words = f"<command-name>/{name}</command-name>\n<command-args>{invocation.arguments}</command-args>"
    context.session.say_system("local_command", content=words, fields={"level": "info"})
    if text:
        output = f"<local-command-stdout>{text[:_LONGEST_KEPT]}</local-command-stdout>"
        context.session.say_system("local_command", content=output, fields={"level": "info"})


def _blocks(asks: Asks) -> list[UserBlock]:
    return [text_block(asks.content)] if isinstance(asks.content, str) else list(asks.content)
