"""Makes the place for the workflows of a session, by what flags and settings say."""

import os.path
from collections.abc import Callable, Mapping

from bridle.config.schema import Settings
from bridle.engine.runtime import Runtime
from bridle.engine.workflows.door import TOOL, Wishes, WorkflowDoor
from bridle.extensions.workflows import WorkflowFile, WorkflowFiles, are_workflows_on, workflow_roots
from bridle.permissions.rules import split_rules
from bridle.session import choices
from bridle.session.base import SessionBase
from bridle.session.parts.extensions import ExtensionFiles
from bridle.types.event import Noticed
from bridle.types.permission import Effect

_ULTRACODE = "ultracode"
_MOST_TOLD = 5


def open_workflows(base: SessionBase, files: ExtensionFiles) -> WorkflowDoor | None:
    """The workflows of a session; None where it takes nothing from files."""
    setup = base.setup
    options, settings, env = setup.options, setup.config.settings, setup.env
    if choices.is_closed(options, env):
        return None
    usual = _ULTRACODE if settings.ultracode else settings.effort_level
    effort = options.effort or env.get("CLAUDE_CODE_EFFORT_LEVEL") or usual
    return WorkflowDoor(
        _looked_up(base, files),
        wishes=_wishes(settings),
        ultracode=effort == _ULTRACODE,
        wanted=_is_cheap(base) or _is_named(base),
        switch=_switch(settings, env),
    )


def follow_settings(
    runtime: Runtime, before: Settings, now: Settings, *, was_allowed: bool, env: Mapping[str, str]
) -> None:
    """Let what settings say about workflows count after they have changed."""
    if (workflows := runtime.workflows) is None:
        return
    workflows.wishes = _wishes(now)
    if now.ultracode != before.ultracode:
        workflows.ultracode = bool(now.ultracode)
    workflows.switch = _switch(now, env)
    if was_allowed and not workflows.allowed() and (running := workflows.running):
        which = f"{', '.join(running[:_MOST_TOLD])} still {'runs' if len(running) == 1 else 'run'}"
        text = f"Workflows are turned off: {which}; /workflows <run> stop ends one."
        runtime.channel.emit(Noticed(text, "warning"))


def _switch(settings: Settings, env: Mapping[str, str]) -> Callable[[], bool]:
    """Whether runs may begin; a host program may change the variables at any time."""
    return lambda: are_workflows_on(settings, env)


def _wishes(settings: Settings) -> Wishes:
    return Wishes(
        keyword=settings.workflow_keyword_trigger_enabled is not False,
        guideline=settings.workflow_size_guideline,
    )


def _looked_up(base: SessionBase, files: ExtensionFiles) -> Callable[[], Mapping[str, WorkflowFile]]:
    """The workflow files as they are now; what is wrong with them is told with the first look."""
    settings, env = base.setup.config.settings, base.setup.env
    made: list[WorkflowFiles] = []

    def look() -> Mapping[str, WorkflowFile]:
        if not made:
            made.append(
                WorkflowFiles(files.index, lambda: workflow_roots(settings, env, files.roots("workflows")))
            )
            # Host programs show nobody what is written to standard error.
            if not env.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk-"):
                for problem in made[0].problems()[:_MOST_TOLD]:
                    base.warn(str(problem))
        return made[0].all()

    return look


def _is_cheap(base: SessionBase) -> bool:
    """Whether the tool costs its name alone until somebody needs it."""
    rules = base.session.state.rules
    return choices.choose_deferral(base.setup.options, base.setup.env, rules).when == "always"


def _is_named(base: SessionBase) -> bool:
    """Whether flags, rules or what the conversation has done show that the tool will be used."""
    listed = (name for part in base.setup.options.tools or () for name in split_rules(part))
    rules = (rule.tool for rule in base.session.state.rules if rule.effect is Effect.ALLOW)
    places = (os.path.join(storage, "workflows") for storage in (base.storage, *base.earlier()))
    return TOOL in (*listed, *rules) or any(map(os.path.isdir, places))
