"""Commands about the model: which one, how hard it thinks, how full its window may get."""

from msgspec.structs import replace

from bridle.commands.context import CommandContext
from bridle.commands.settings import save
from bridle.context.window import read_window
from bridle.engine.model_switch import switch_model
from bridle.features.workflows.feature import SESSION_WORKFLOWS
from bridle.providers import gateway
from bridle.providers.connect import check_vendor
from bridle.providers.model_listing import (
    Choice,
    ModelListing,
    available_names,
    full_name,
    is_available,
    offer,
)
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import ConfigError, UsageError
from bridle.types.services.fast_mode import FAST_MODE

_ULTRACODE, _HARDEST = "ultracode", "xhigh"
_KEPT_EFFORTS = ("low", "medium", "high", "xhigh")

_LOGIN = (
    "bridle uses API keys: run bridle auth login <vendor>, or set ANTHROPIC_API_KEY or another vendor's key. "
    "bridle docs models lists the vendors. No key? Try bridle --model offline."
)


async def model(arguments: str, context: CommandContext) -> CommandResult:
    """Choose the model; `s` behind it means for this session only."""
    words = arguments.split()
    if not words:
        await gateway.refresh(context.env, helper=context.settings.config().settings.api_key_helper)
        return Shows(view="model", text=_models(context))
    session_only = len(words) > 1 and words[1] in ("s", "session", "--session")
    chosen = await choose_model(words[0], context, save_it=not session_only)
    kept = " for this session" if session_only else ""
    return Says(f"Set model to {chosen}{kept}")


async def choose_model(name: str, context: CommandContext, *, save_it: bool) -> str:
    """Let a model answer from the next request on, and return its full id.

    Raises:
        UsageError: it may not be chosen, or a hook refuses.
        ConfigError: the settings cannot be written.
    """
    choice = _choice_of(context)
    if not is_available(name, choice):
        allowed = ", ".join(choice.settings.available_models or ())
        raise UsageError(f"{name} is not among availableModels: {allowed}.")
    chosen = full_name(name, choice)
    try:
        check_vendor(chosen, context.env, choice.own)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    await switch_model(context.session, context.runtime, chosen)
    if save_it:
        await save("model", None if name == "default" else name, context)
        context.session.swap(model=chosen)
    return chosen


def model_choices(context: CommandContext) -> tuple[ModelListing, ...]:
    """The models that are offered, those that can be used first.

    They are aliases, the user's own, those of vendors with a key and of a gateway, and the one in use.
    """
    choice, current = _choice_of(context), context.session.state.model
    found = [offer(name, choice) for name in available_names(choice)]
    if not any(each.model == current for each in found):
        found.append(offer(current, choice))
    return tuple(sorted(found, key=lambda each: each.key == "missing"))


async def effort(arguments: str, context: CommandContext) -> CommandResult:
    current = context.runtime.asking.effort
    known = context.runtime.facts(context.session.state.model).efforts
    wanted = arguments.strip().lower()
    workflows = context.runtime.features.find(SESSION_WORKFLOWS)
    if wanted in ("", "status"):
        levels = ", ".join(known) or "none for this model"
        ultra = ", with ultracode" if workflows is not None and workflows.ultracode else ""
        return Shows(view="effort", text=f"Effort: {current or 'auto'}{ultra}. Levels: {levels}.")
    return Says(await choose_effort(wanted, context))


async def choose_effort(level: str, context: CommandContext) -> str:
    """Choose how hard the model thinks, and say what counts now.

    Raises:
        UsageError: the model has no such level.
    """
    workflows = context.runtime.features.find(SESSION_WORKFLOWS)
    if level == _ULTRACODE:
        if workflows is None or not workflows.allowed():
            raise UsageError("ultracode needs workflows, which are off in this session.")
        workflows.ultracode = True
        context.server.change(asking=context.runtime.asking.at_effort(_HARDEST))
        return "Ultracode is on for this session: maximum effort, and workflows for large tasks."
    model = context.session.state.model
    known = context.runtime.facts(model).efforts
    if level != "auto" and level not in known:
        raise UsageError(f"{model} supports {', '.join((*known, 'auto'))}, not {level}.")
    if workflows is not None:
        workflows.ultracode = False
    if level == "auto" or level in _KEPT_EFFORTS:
        await save("effortLevel", None if level == "auto" else level, context)
    asking = context.runtime.asking
    context.server.change(asking=asking.at_effort(None if level == "auto" else level))
    kept = "" if level == "auto" or level in _KEPT_EFFORTS else " for this session"
    return f"Set effort to {level}{kept}."


async def autocompact(arguments: str, context: CommandContext) -> CommandResult:
    habits, wanted = context.runtime.habits, arguments.strip().lower()
    if not wanted:
        window = context.runtime.window(context.session.state.model)
        state = "on" if habits.automatic and habits.allowed else "off"
        return Says(f"Auto-compact is {state}, at {window.compact_at:,} of {window.size:,} tokens.")
    if wanted in ("on", "off"):
        await save("autoCompactEnabled", None if wanted == "on" else False, context)
        context.server.change(habits=replace(habits, automatic=wanted == "on"))
        return Says(f"Auto-compact is {wanted}.")
    try:
        window = read_window(wanted)
    except ValueError as error:
        raise UsageError(f"{error}, or off.") from error
    await save("autoCompactWindow", window, context)
    context.server.change(habits=replace(habits, window=window, automatic=True))
    at = context.runtime.window(context.session.state.model).compact_at
    return Says(f"Auto-compacts at {at:,} tokens.")


async def fast(arguments: str, context: CommandContext) -> CommandResult:
    """Ask for faster answers at a higher price, or say whether that is so."""
    wanted, model = arguments.strip().lower(), context.session.state.model
    mode = context.runtime.features.find(FAST_MODE)
    if wanted not in ("", "on", "off"):
        raise UsageError("Use /fast on or /fast off.")
    if mode is None:
        raise UsageError(FAST_MODE.missing)
    if wanted != "off" and (objection := mode.objection(model)) is not None:
        raise UsageError(objection)
    on = wanted == "on" if wanted else mode.state == "off"
    mode.switch(on=on)
    if on:
        context.server.change(provider=mode.around(context.runtime.provider))
    if context.settings.config().settings.fast_mode_per_session_opt_in is not True:
        await save("fastMode", True if on else None, context)
    if not on:
        return Says("Fast mode is off.")
    factor = context.runtime.facts(model).fast_factor
    return Says(f"Fast mode is on: {model} answers faster, at {factor:g} times the price.")


async def login(arguments: str, context: CommandContext) -> CommandResult:
    """The menu of ways to a model, where there is a terminal."""
    del arguments, context
    return Shows(view="login", text=_LOGIN)


def complete(context: CommandContext) -> tuple[str, ...]:
    """Names that `/model` takes."""
    return tuple(choice.value for choice in model_choices(context))


async def logout(arguments: str, context: CommandContext) -> CommandResult:
    """Remove stored keys: that of one vendor, or all.

    Raises:
        UsageError: there is no stored key of this vendor.
        ConfigError: a key cannot be removed.
    """
    from bridle.providers.credentials.store import Credentials

    credentials = Credentials(context.env)
    stored = list(credentials.vendors())
    name = arguments.strip().lower()
    if not stored:
        return Says("No key is stored. Keys in variables and settings are not changed.")
    if not name:
        return Says(f"Stored keys: {', '.join(stored)}. Remove one with /logout <vendor>, or /logout all.")
    chosen = stored if name == "all" else [name]
    removed = [each for each in chosen if credentials.forget(each)]
    if not removed:
        raise UsageError(f"No stored key for {name}. Stored keys: {', '.join(stored)}.")
    return Says(f"Removed the key of {', '.join(removed)}. Keys in variables are not changed.")


def _choice_of(context: CommandContext) -> Choice:
    config = context.settings.config()
    return Choice(settings=config.settings, own=config.raw.get("bridleModels") or {}, env=context.env)


def _models(context: CommandContext) -> str:
    current = context.session.state.model
    rows = [
        f"{'*' if each.model == current else ' '} {each.value:<12} {each.model:<28} {each.window:>9,} tokens"
        f"  ${each.input_price or 0:g} in, ${each.output_price or 0:g} out per million"
        f"{', no key' if each.key == 'missing' else f' · {each.advice}'}"
        for each in model_choices(context)
    ]
    return "\n".join([f"The model is {current}.", *rows])
