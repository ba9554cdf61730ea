"""Prompts and skills of servers as slash commands."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from bridle.mcp.results import ResultStorage, content_of
from bridle.types.block import UserBlock, text_block
from bridle.types.command import Asks, Command, CommandResult, Says
from bridle.types.errors import McpError
from bridle.types.services.mcp import McpServers, Prompt, Resource, normalized

_MOST_CHARS = 100_000
_MOST_SKILLS = 200
_SKILL = "skill://"
_SKILL_FILE = "/SKILL.md"


def server_commands(servers: McpServers) -> list[Command]:
    """The commands that connected servers bring."""
    announced = {(skill.server, skill.uri) for skill in servers.skills()}
    skills = [
        each for each in servers.resources() if is_skill(each) and (each.server, each.uri) not in announced
    ][:_MOST_SKILLS]
    return [
        *(_prompt_command(servers, prompt) for prompt in servers.prompts()),
        *(_skill_command(servers, skill) for skill in skills),
    ]


def is_skill(resource: Resource) -> bool:
    """Whether a resource is the text of a skill; it is read when someone calls it and not before."""
    return not resource.template and resource.uri.startswith(_SKILL) and resource.uri.endswith(_SKILL_FILE)


def assign(prompt: Prompt, words: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The arguments of a prompt by their place in a line, and the names of those that are missing."""
    given = _split(words)
    names = [argument.name for argument in prompt.arguments]
    if names and len(given) > len(names):
        # What is too much belongs to the last.
        given = [*given[: len(names) - 1], " ".join(given[len(names) - 1 :])]
    values = dict(zip(names, given, strict=False))
    missing = tuple(each.name for each in prompt.arguments if each.required and each.name not in values)
    return values, missing


def blocks_of(result: Mapping[str, Any]) -> list[UserBlock]:
    """The messages of a filled-in prompt as one text for the model; with the role of each."""
    messages = result.get("messages")
    storage = ResultStorage(storage="", call_id="prompt", fit_image=None)
    blocks: list[Any] = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        found = content_of(content if isinstance(content, list) else [content], storage)
        if message.get("role") == "assistant":
            blocks.append(text_block("[Assistant message:]"))
        blocks += found
    return [*_cut(blocks)]


def _prompt_command(servers: McpServers, prompt: Prompt) -> Command:
    async def run(words: str, context: Any) -> CommandResult:
        del context
        values, missing = assign(prompt, words)
        if missing:
            return Says(
                f"/{prompt.command} needs {', '.join(missing)}: /{prompt.command} {_hint(prompt)}", True
            )
        try:
            result = await servers.prompt(prompt.server, prompt.name, values)
        except McpError as error:
            return Says(f"{prompt.server} could not provide {prompt.name}: {error}", True)
        blocks = blocks_of(result)
        if not blocks:
            return Says(f"{prompt.server} returned nothing for {prompt.name}.", True)
        return Asks(content=blocks, shown=f"/{prompt.command} {words}".strip())

    return Command(
        name=prompt.command,
        description=prompt.description or prompt.title or f"Prompt from {prompt.server}",
        run=run,
        source="mcp",
        reach="person",
        origin=prompt.server,
        argument_hint=_hint(prompt),
    )


def _skill_command(servers: McpServers, skill: Resource) -> Command:
    name = skill.uri.removeprefix(_SKILL).removesuffix(_SKILL_FILE).rpartition("/")[2]
    command = f"{normalized(skill.server)}:{normalized(name)}"

    async def run(words: str, context: Any) -> CommandResult:
        del context
        try:
            result = await servers.read_resource(skill.server, skill.uri)
        except McpError as error:
            return Says(f"{skill.server} could not provide {skill.uri}: {error}", True)
        storage = ResultStorage(storage="", call_id="skill", fit_image=None)
        text = _cut(content_of(result.get("contents"), storage))
        more: list[Any] = [text_block(f"Arguments: {words}")] if words else []
        return Asks(content=[*text, *more], shown=f"/{command} {words}".strip())

    return Command(
        name=command,
        description=skill.description or skill.title or f"Skill from {skill.server}",
        run=run,
        source="mcp",
        reach="person",
        origin=skill.server,
    )


def _cut(blocks: Sequence[Any]) -> list[Any]:
    left, kept = _MOST_CHARS, list[Any]()
    for block in blocks:
        if block["type"] != "text":
            kept.append(block)
        elif left > 0:
            kept.append(text_block(block["text"][:left]))
            left -= len(block["text"])
    return kept


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError:
        return words.split()  # A lone quotation mark is a letter like any other.


def _hint(prompt: Prompt) -> str:
    return " ".join(f"<{each.name}>" if each.required else f"[{each.name}]" for each in prompt.arguments)
