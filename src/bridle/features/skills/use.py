"""Calls a skill: its text with arguments and outputs, what it allows, the hooks that come with it."""

import os.path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bridle.config.source_limits import CHANGED
from bridle.engine.calls.call import Call, DeferredCall
from bridle.engine.turn import Turn
from bridle.extensions.bundled_files import extract, has_files
from bridle.extensions.expansion import Expanded, ExpansionContext, RunShell, expand
from bridle.extensions.skills import Skill
from bridle.hooks.handler import Origin
from bridle.hooks.table import from_values
from bridle.permissions.rules import parse, split_rules
from bridle.permissions.tool_names import READ, SHELL, SKILL
from bridle.types.block import UserBlock, text_block, text_of
from bridle.types.command import Asks
from bridle.types.errors import ToolError
from bridle.types.event import Noticed
from bridle.types.ids import new_uuid
from bridle.types.origin import sender_named
from bridle.types.permission import Effect, Rule
from bridle.types.services.delegation import AgentCompleted, Delegation
from bridle.types.services.session import SkillDone, SkillLoaded, SkillUse
from bridle.types.turn import Prompt

if TYPE_CHECKING:
    from bridle.features.skills.session import Caller, SessionSkills
    from bridle.types.tool import Delegate

_OWN_SOURCES = ("bundled", "managed")
_NO_SHELL = "[The command was not run: the setting disableSkillShellExecution is on.]"
_LONGEST_RESULT = 100_000


class Loaded(Struct, frozen=True, kw_only=True):
    """A skill that is ready for the model."""

    text: str
    beside: tuple[UserBlock, ...] = ()
    """What the text mentions."""
    rules: tuple[Rule, ...] = ()
    allowed: tuple[str, ...] = ()
    """What its header allows, as far as that counts."""


async def ask_with(skills: "SessionSkills", skill: Skill, arguments: str, caller: "Caller") -> Asks:
    """What the user's `/name arguments` stands for.

    Raises:
        ToolError: the skill cannot be read, or one of its commands failed.
    """
    shown = f"/{skill.name} {arguments}".strip()
    origin, called = caller.origin, caller.called_by
    prompt = called if called.origin.words is not None else Prompt(content=shown, origin=origin)
    turn = Turn(caller.session, prompt, caller.runtime)
    if not origin.is_person:
        await _require(skills, skill, arguments, turn)
    typed = origin.is_own and arguments in origin.own_words(text_of(prompt.content))
    loaded = await load(skills, skill, arguments, turn, stays=skill.agent is None, typed=typed)
    return Asks(
        content=[text_block(loaded.text), *loaded.beside],
        shown=shown,
        rules=loaded.rules,
        model=_model(skills, skill, turn),
        effort=skill.effort,
        agent=skill.agent,
        background=skill.background or False,
    )


async def use_skill(
    skills: "SessionSkills", skill: Skill, arguments: str, turn: Turn, delegate: "Delegate | None"
) -> SkillUse:
    """Load a skill into a turn that runs, or hand it to an agent.

    Raises:
        ToolError: the skill cannot be read, or one of its commands failed.
    """
    apart = skill.agent is not None and delegate is not None
    loaded = await load(skills, skill, arguments, turn, stays=not apart)
    mentioned = [text_of([block]) for block in loaded.beside if block["type"] == "text"]
    if skill.agent is not None and delegate is not None:
        report = await delegate(
            Delegation(
                description=f"/{skill.name}"[:60],
                prompt="\n\n".join((loaded.text, *mentioned)),
                agent_type=skill.agent,
                model=_model(skills, skill, turn),
                effort=skill.effort,
                background=skill.background or False,
                rules=loaded.rules,
            )
        )
        result = (
            text_of([*report.content]).strip() or "The skill finished. The agent returned no text."
            if isinstance(report, AgentCompleted)
            else f"The agent is working in the background. Output: {report.output_file}."
        )
        return SkillDone(name=skill.name, agent_id=report.agent_id, result=result[:_LONGEST_RESULT])
    turn.prompt = replace(
        turn.prompt,
        rules=(*turn.prompt.rules, *loaded.rules),
        effort=skill.effort or turn.prompt.effort,
    )
    if (named := _model(skills, skill, turn)) is not None:
        turn.model = skills.context.resolve_model(named)
    return SkillLoaded(
        name=skill.name,
        text="\n\n".join((f"# Skill {skill.name}\n\n{loaded.text}", *mentioned)),
        allowed_tools=loaded.allowed,
        model=named,
    )


async def _require(skills: "SessionSkills", skill: Skill, arguments: str, turn: Turn) -> None:
    """What no person called, such as a skill in a scheduled prompt, passes the gate as a call of the model.

    Raises:
        ToolError: only people may call it, or it is not allowed.
    """
    from bridle.engine.permissions.run_rules import require

    tool = turn.runtime.toolbox.find(SKILL)
    if tool is None or skill.name not in {each.name for each in skills.for_model()}:
        whence = sender_named(turn.prompt.origin)
        raise ToolError(f"/{skill.name} was not run: {whence} requested it, and only the user can call it.")
    await require(tool, {"skill": skill.name, "args": arguments}, turn)


async def load(
    skills: "SessionSkills",
    skill: Skill,
    arguments: str,
    turn: Turn,
    *,
    stays: bool = True,
    typed: bool = False,
) -> Loaded:
    """Expand a skill; its hooks listen from now on, and the use is counted.

    A text that `stays` in the conversation is given back to it after a compaction. Arguments that the user
    `typed` may name any file; others name what the model may read unasked.

    Raises:
        ToolError: the skill cannot be read, or one of its commands failed or was not allowed.
    """
    counts = skill.source != "mcp" and (skills.context.trusted or not skill.shared)
    folder = _folder(skills, skill)
    own = _rules(skills, skill, turn) if counts else ()
    rules = (*own, *_reading(skill, folder))
    # Commands of the skill are judged with what the skill allows.
    inside = Turn(turn.session, replace(turn.prompt, rules=(*turn.prompt.rules, *rules)), turn.runtime)
    runtime = turn.runtime
    circumstances = ExpansionContext(
        session_id=turn.session.id,
        project_dir=runtime.workspace.start,
        effort=skill.effort or turn.prompt.effort or runtime.asking.effort or "",
        skill_dir=folder,
    )
    # What a server wrote runs no commands and picks no files.
    served = skill.source == "mcp"
    run = None if served else _shell(skills, skill, inside, counts=counts)
    expanded = await expand(skill, arguments, circumstances, run)
    beside: tuple[UserBlock, ...] = ()
    if not served:
        beside = await _mentioned(expanded, skill, inside, typed=typed)
    if counts:
        _add_hooks(skills, skill, turn)
    await skills.note_use(turn.session, skill, expanded.text if stays else None)
    for feature in runtime.features.at("skill_called"):
        await feature.skill_called(skill.name)
    widens = any(rule.effect is Effect.ALLOW for rule in own)
    return Loaded(
        text=expanded.text, beside=beside, rules=rules, allowed=skill.allowed_tools if widens else ()
    )


async def _mentioned(expanded: Expanded, skill: Skill, inside: Turn, *, typed: bool) -> tuple[UserBlock, ...]:
    """The files that a skill names itself, and those that its arguments name.

    What arguments name, alone or together with words of the skill, is read as the model would read it, unless
    the user typed them: the model chooses the arguments of its calls.
    """
    attach, own = inside.runtime.sources.attach, _reader(skill, inside)
    prompt = Prompt(content=expanded.fixed, origin=inside.prompt.origin)
    if "@" in expanded.fixed:
        prompt = await attach(own, prompt)
    if "@" in expanded.given:
        given = replace(prompt, content=expanded.given)
        prompt = await attach(own if typed else inside, given)
    return prompt.beside


def _reader(skill: Skill, inside: Turn) -> Turn:
    """Who reads what a skill names itself: a skill of the user may name any file, one of a plugin its own."""
    root = None if skill.root is None else skill.root.plugin_root
    if root is not None:
        more = Rule(Effect.ALLOW, READ, f"/{root}/**", "command")
    elif skill.source != "project":
        more = parse(READ, Effect.ALLOW, "command")
    else:
        return inside
    return Turn(inside.session, replace(inside.prompt, rules=(*inside.prompt.rules, more)), inside.runtime)


def _shell(skills: "SessionSkills", skill: Skill, inside: Turn, *, counts: bool) -> RunShell:
    """What runs the commands of a skill, as far as settings and trust let it."""

    async def run(command: str) -> str:
        if skills.settings.disable_skill_shell_execution and skill.source not in _OWN_SOURCES:
            return _NO_SHELL
        if not counts:
            raise ToolError(
                f"The skill {skill.name} of this folder runs commands, and the folder is not trusted: "
                "run bridle trust first."
            )
        return await _run_command(skill, command, inside)

    return run


async def _run_command(skill: Skill, command: str, turn: Turn) -> str:
    """Run an embedded command like any call of the model: hooks, gate, sandbox.

    Raises:
        ToolError: it failed or was not allowed.
    """
    from bridle.engine.calls.dispatch import dispatch

    if skill.shell != "bash":
        raise ToolError(f"The skill {skill.name} needs the shell {skill.shell}; only bash is available.")
    call = Call(id=f"skill_{new_uuid()}", name=SHELL, input={"command": command})
    settled = await dispatch(call, turn, is_alone=_never)
    if isinstance(settled, DeferredCall):
        raise ToolError(f"The skill {skill.name} was not loaded: a hook deferred its command {command!r}.")
    output = settled.output
    said = output.content if isinstance(output.content, str) else text_of([*output.content])
    if output.is_error:
        raise ToolError(f"The skill {skill.name} was not loaded, because `{command[:200]}` failed: {said}")
    match output.data:
        case {"stdout": str() as printed, "stderr": str() as complaint} if printed or complaint:
            return "\n".join(part for part in (printed.rstrip("\n"), complaint.rstrip("\n")) if part)
        case {"stdout": ""}:
            return ""
        case _:
            return said


async def _never() -> bool:
    return False


def _folder(skills: "SessionSkills", skill: Skill) -> str | None:
    """Where the skill's own files can be read; bundled ones are copied there with the first use."""
    if skill.folder is None or skill.source != "bundled":
        return skill.folder
    if not has_files(skill.folder):
        return None
    return extract(skill.folder, os.path.join(skills.context.storage, "skills", skill.name))


def _rules(skills: "SessionSkills", skill: Skill, turn: Turn) -> tuple[Rule, ...]:
    """What the skill allows and denies for the turn. Invalid rules are reported and ignored.

    A file of the project allows nothing while it is not as the user approved it.
    """
    allowed = skill.allowed_tools
    if allowed and skill.shared and not skills.context.covers(skill.file):
        allowed = ()
        text = f"{skill.file}: its allowed-tools were ignored, because the file {CHANGED}"
        turn.runtime.channel.emit(Noticed(text, "warning"))
    rules: list[Rule] = []
    for effect, listed in ((Effect.ALLOW, allowed), (Effect.DENY, skill.disallowed_tools)):
        for text in (piece for each in listed for piece in split_rules(each)):
            try:
                rules.append(parse(text, effect, "command"))
            except ValueError as error:
                turn.runtime.channel.emit(Noticed(f"{skill.file or skill.name}: {error}", "warning"))
    return tuple(rules)


def _reading(skill: Skill, folder: str | None) -> tuple[Rule, ...]:
    """The model may read what lies beside the skill that it follows."""
    if folder is None or skill.source == "project":
        return ()
    return (Rule(Effect.ALLOW, READ, f"/{folder}/**", "command"),)


def _model(skills: "SessionSkills", skill: Skill, turn: Turn) -> str | None:
    """The model that a skill names; one of the project names none on a service that the user does not use."""
    if skill.model is None or not skill.shared or skills.context.may_choose(skill.model):
        return skill.model
    text = f"The skill {skill.name} of this project uses {skill.model}, a model on a service that your "
    turn.runtime.channel.emit(Noticed(f"{text}settings do not use. The model was ignored.", "warning"))
    return None


def _add_hooks(skills: "SessionSkills", skill: Skill, turn: Turn) -> None:
    if not skill.hooks or skill.name in skills.hooked:
        return
    skills.hooked.add(skill.name)
    root = skill.root
    table = from_values(
        skill.hooks,
        Origin(
            source="skill",
            file=skill.file,
            owner=skill.name,
            shared=skill.shared,
            plugin_root=None if root is None else root.plugin_root,
            plugin_data=None if root is None else root.plugin_data,
            options={} if root is None else root.options,
        ),
    )
    skills.context.hooks.open().add(table.entries)
    for problem in table.problems:
        turn.runtime.channel.emit(Noticed(str(problem), "warning"))
