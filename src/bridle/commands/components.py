"""Commands about what a session is made of: servers, hooks, agents, skills, instructions."""

import asyncio
import os.path
from collections.abc import Sequence

from bridle.commands.context import CommandContext
from bridle.commands.permissions import permissions
from bridle.commands.queries.extensions import (
    VISIBILITIES,
    SkillFacts,
    Visibility,
    agent_facts,
    hook_table,
    skill_facts,
)
from bridle.commands.queries.memory_files import memory_places, takes_notes
from bridle.commands.settings import save, settings_file
from bridle.config.edit import remove_value, set_value
from bridle.context.tokens import estimate
from bridle.engine.null_parts import NO_SERVERS
from bridle.features.agents.feature import AGENTS
from bridle.host.paths import config_home
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import McpError, UsageError
from bridle.types.nearest import did_you_mean
from bridle.types.services.mcp import McpServers, ServerState


async def agents(arguments: str, context: CommandContext) -> CommandResult:
    """Show the agents, or keep one from being started (`<name> off`) and let it again (`<name> on`)."""
    match arguments.split():
        case []:
            pass
        case [name, "on" | "off" as switch]:
            names = [each.definition.name for each in agent_facts(context)]
            if name not in names:
                raise UsageError(f"Unknown agent {name}{did_you_mean(name, names) or '. Try /agents.'}")
            change = f"deny Agent({name}) local" if switch == "off" else f"remove Agent({name})"
            return await permissions(change, context)
        case _:
            raise UsageError("Use /agents, or /agents <name> on|off.")
    rows = [
        f"{each.definition.name} ({each.definition.source}, {each.tokens} tokens"
        f"{', off' if each.denied else ''}): {each.definition.description}"
        for each in agent_facts(context)
    ]
    folder = os.path.join(config_home(context.env), "agents")
    advice = (
        f"An agent is a Markdown file in .claude/agents/ or {folder}: front matter with a name and a "
        "description, then its prompt. Or ask bridle to write one."
    )
    return Shows(view="agents", text="\n".join([*rows, advice]))


async def hooks(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    table = hook_table(context)
    lines: list[str] = []
    for entry in table.entries:
        objection = table.policy.objection(entry)
        matcher = f" [{entry.matcher_text}]" if entry.matcher_text else ""
        why = f"  (inactive: {objection})" if objection else ""
        lines.append(f"{entry.event}{matcher} {entry.kind}  {entry.origin.file or entry.origin.source}{why}")
    return Shows(view="hooks", text="\n".join(lines) or "No hooks are configured.")


async def peers(arguments: str, context: CommandContext) -> CommandResult:
    """Agents of this session that are running, and sessions on other machines."""
    from bridle.features.teams.remote import remote_contacts

    del arguments
    known = context.runtime.features.find(AGENTS)
    rows = [f"{task.id}  {task.description}" for task in known.running()] if known is not None else []
    rows += (f"{each.address}  {each.status}  {each.about}" for each in await remote_contacts(context.env))
    return Says("\n".join(rows) or "No running agents, and no other session to message.")


async def servers(arguments: str, context: CommandContext) -> CommandResult:
    known = context.runtime.servers
    words = arguments.split()
    if not words:
        listed = "\n".join(map(_server, known.status()))
        return Shows(view="mcp", text=listed or "No MCP servers are configured.")
    if known is NO_SERVERS:
        return Says("No MCP servers are configured. Add one with: bridle mcp add", is_error=True)
    if len(words) != 2 or words[0] not in ("reconnect", "enable", "disable"):
        raise UsageError("Use /mcp, /mcp reconnect <server>, /mcp enable|disable <server|all>.")
    return await _look_after(words[0], words[1], known)


async def memory(arguments: str, context: CommandContext) -> CommandResult:
    if arguments in ("on", "off"):
        await save("autoMemoryEnabled", arguments == "on", context)
        return Says(f"Auto-memory is {arguments}.")
    places = [each for each in await asyncio.to_thread(memory_places, context) if each.exists]
    rows = [f"{each.name}: {each.path} ({estimate(each.text):,} tokens)" for each in places]
    rows.append(f"Auto-memory is {'on' if takes_notes(context) else 'off'}.")
    if len(rows) == 1:
        rows.insert(0, "No instruction files. Create one with /init.")
    return Shows(view="memory", text="\n".join(rows))


async def reload(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    if context.reload_extensions is None:
        return Says("This session loads nothing from files, so there is nothing to reload.")
    return Says(await context.reload_extensions())


async def skills(arguments: str, context: CommandContext) -> CommandResult:
    """Show the skills, or say who may use one: `<name> on|name-only|user-invocable-only|off`."""
    facts = skill_facts(context)
    match arguments.split():
        case []:
            pass
        case [name, word] if word in VISIBILITIES:
            return await _set_visibility(name, word, facts, context)
        case _:
            raise UsageError(f"Use /skills, or /skills <name> {'|'.join(VISIBILITIES)}.")
    rows = [_skill(each) for each in sorted(facts, key=lambda each: -each.tokens)]
    return Shows(view="skills", text="\n".join(rows) or "No skills.")


async def _look_after(action: str, name: str, known: McpServers) -> CommandResult:
    names = [state.name for state in known.status()]
    if name != "all" and name not in names:
        raise UsageError(f"Unknown server {name}. Servers: {', '.join(names) or 'none'}.")
    lines: list[str] = []
    failed = False
    for each in names if name == "all" else [name]:
        try:
            if action == "reconnect":
                await known.reconnect(each)
            else:
                await known.toggle(each, enabled=action == "enable")
            lines.append(f"{each}: {action}d" if action != "reconnect" else f"{each}: connected")
        except McpError as error:
            failed = True
            lines.append(f"{each}: {error}")
    return Says("\n".join(lines), is_error=failed)


async def _set_visibility(
    name: str, word: Visibility, facts: Sequence[SkillFacts], context: CommandContext
) -> CommandResult:
    found = next((each for each in facts if each.name == name.removeprefix("/")), None)
    if found is None:
        meant = did_you_mean(name, (each.name for each in facts)) or ". Try /skills."
        raise UsageError(f"Unknown skill {name}{meant}")
    if found.locked:
        raise UsageError(f"Your organization controls {found.name}.")
    file = settings_file("user", context)
    keys = ("skillOverrides", found.name)
    if word == "on":
        await asyncio.to_thread(remove_value, file, keys)
    else:
        await asyncio.to_thread(set_value, file, keys, word)
    context.settings.refresh()
    return Says(f"{found.name} is {word} now.")


def _skill(facts: SkillFacts) -> str:
    switch = "" if facts.visibility == "on" else f", {facts.visibility}"
    owner = f" {facts.owner}" if facts.owner else ""
    return f"/{facts.name} ({facts.source}{owner}, {facts.tokens} tokens{switch}): {facts.description[:250]}"


def _server(state: ServerState) -> str:
    detail = f": {state.error}" if state.error else f", {len(state.tools)} tools"
    return f"{state.name} ({state.scope}): {state.status}{detail}"
