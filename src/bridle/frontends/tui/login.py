"""The way to a model in the terminal: the same menu at a first start and for /login."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from bridle.config.schema import Settings
from bridle.frontends.tui.app import GUARD_SECONDS, App
from bridle.frontends.tui.dialogs.login import EnteredKey, KeyDialog, WaitDialog, login_menu
from bridle.frontends.tui.dialogs.menu import Choice
from bridle.providers import vendors
from bridle.providers.choices.vendor_keys import start_model, takes_key, vendors_with_key
from bridle.providers.credentials.login import check_policy, checked_key, keep_key
from bridle.providers.keys import LOGIN
from bridle.providers.local_servers import LocalServer, discover
from bridle.providers.routes import place_of
from bridle.types.errors import BridleError

T = TypeVar("T")
_PATIENCE = 0.5
"""Seconds for servers on this machine to answer."""


class ChosenModel(Struct, frozen=True):
    """The model that a user came to."""

    model: str
    said: str
    saves: bool = True
    """Whether later sessions start with it too."""


async def log_in(
    app: App, *, settings: Settings, env: Mapping[str, str], first: bool = False
) -> ChosenModel | None:
    """Let the user choose a way to a model; None where they want none."""
    servers = await discover(env, patience=_PATIENCE)
    while True:
        dialog = login_menu(_choices(servers, settings, env), first=first)
        picked = await app.open(dialog, guard=GUARD_SECONDS, on_armed=dialog.panel.arm)
        match None if picked is None else picked.value:
            case "paste":
                if (chosen := await _paste(app, settings, env)) is not None:
                    return chosen
            case "offline":
                return ChosenModel("offline", "Using the offline planner: no key, no network.", saves=False)
            case None | "skip":
                return None
            case str(model):
                return ChosenModel(model, f"Using {model}.")


def _choices(servers: tuple[LocalServer, ...], settings: Settings, env: Mapping[str, str]) -> list[Choice]:
    choices = [
        Choice(value="paste", label="Paste an API key", note="Anthropic, OpenAI, OpenRouter, Gemini, …")
    ]
    for each in vendors_with_key(env, helper=settings.api_key_helper):
        if each.model:
            source = "saved key" if each.source == LOGIN else f"key in {each.source}"
            choices.append(Choice(value=each.model, label=f"{each.vendor.label}: {each.model}", note=source))
    for server in servers:
        ordered = sorted(server.models, key=lambda each: each.tools is not True)
        if ordered:
            note = f"on this machine, {server.base}"
            choices.append(
                Choice(value=ordered[0].name, label=f"{server.label}: {ordered[0].name}", note=note)
            )
    choices.append(
        Choice(value="offline", label="Try offline now", note="built-in planner: no key, no network")
    )
    choices.append(Choice(value="skip", label="Not now"))
    return choices


async def _paste(app: App, settings: Settings, env: Mapping[str, str]) -> ChosenModel | None:
    known = [(row.name, row.label) for row in vendors.VENDORS if takes_key(row)]
    problem = key = ""
    while True:
        given = await app.open(KeyDialog(known, problem=problem, key=key))
        if given is None:
            return None
        key = given.key
        try:
            return await _waiting(app, "Testing the key…", _keep(given, settings, env))
        except BridleError as error:
            problem = str(error)


async def _keep(given: EnteredKey, settings: Settings, env: Mapping[str, str]) -> ChosenModel:
    row = vendors.find(given.vendor) or vendors.VENDORS[0]
    check_policy(row.name, settings, env)
    place = place_of(row, env)
    saved = await keep_key(place, checked_key(given.key), settings=settings, tries=not given.untested)
    works = " and works" if saved.verified else ""
    model = start_model(row)
    said = f"The key for {row.label} is saved{works}."
    return ChosenModel(model, said if model else f"{said} Choose a model with /model {row.name}/NAME.")


async def _waiting(app: App, text: str, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of some work, with a line on the screen; None where the user stopped it."""
    shown = asyncio.ensure_future(app.open(WaitDialog(text)))
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((shown, task), return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else None
    finally:
        shown.cancel()
        task.cancel()
