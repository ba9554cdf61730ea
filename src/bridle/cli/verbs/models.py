"""`bridle models`: which models there are, what they cost, whether they answer, and who takes over."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.options import session_options
from bridle.cli.say import say, tell
from bridle.cli.subcommands.models import PASSED_ON
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.providers import catalog, fallbacks, gateway, vendors
from bridle.providers.model_listing import Choice, ModelListing, offer, offers
from bridle.providers.nearest import did_you_mean_model
from bridle.session.model_check import ask_once
from bridle.session.model_choices import choose_fallbacks
from bridle.session.prepare import set_up
from bridle.session.setup import Setup
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean

_PASSED_ON = tuple(name.lstrip("-") for name in PASSED_ON)


def list_models(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """List models.

    Raises:
        UsageError: there is no such vendor.
    """
    setup, vendor, everything = _set_up(given, env), given.text("vendor"), given.on("all")
    if vendor is not None and vendors.find(vendor) is None:
        known = [row.name for row in vendors.VENDORS if row.name != "custom"]
        hint = did_you_mean(vendor, known) or f": use one of {', '.join(known)}"
        raise UsageError(f"unknown vendor {vendor!r}{hint}")
    asyncio.run(gateway.refresh(setup.env, helper=setup.config.settings.api_key_helper))
    found = offers(_choice(setup), everything=everything, vendor=vendor)
    if given.on("json"):
        return say(_pretty([msgspec.to_builtins(each) for each in found]))
    hidden = len(catalog.listed()) - sum(each.value == each.model for each in found)
    more = f"{hidden} more with --all: they need a key (bridle auth login <vendor>).\n" if hidden > 0 else ""
    return tell(*_table(found)) or say(more if vendor is None and not everything else "")


def show_model(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show all that is known of a model.

    Raises:
        UsageError: there is no such model.
    """
    setup, name = _set_up(given, env), given.one("name")
    choice = _choice(setup)
    line = offer(name, choice)
    model = catalog.find(line.model, choice.own)
    if not model.priced and model.vendor == "anthropic" and "claude" not in line.model:
        raise UsageError(f"unknown model {name!r}{did_you_mean_model(name, choice.own)}")
    small = line.model if model.dialect == "offline" else catalog.small_model(setup.env, model)
    facts = msgspec.to_builtins(line) | {
        "dialect": model.dialect,
        "cache_read_price": model.cache_read_price if model.priced else None,
        "cache_write_price": model.cache_write_price if model.priced else None,
        "thinking": model.thinking,
        "small_model": small,
        "in_plan_mode": catalog.planner(name, setup.env, choice.own) or line.model,
        "wire_name": model.wire_name,
    }
    if given.on("json"):
        return say(_pretty(facts))
    rows = [(key.replace("_", " "), _told(value)) for key, value in facts.items()]
    return tell(*(f"{key:<18}{value}" for key, value in rows if value))


def test_model(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Send a request to a model.

    Raises:
        ProviderError: it does not answer.
    """
    setup, name = _set_up(given, env), given.text("name")
    model = setup.model if name is None else catalog.resolve(name, setup.env, own=_choice(setup).own)
    answer = asyncio.run(ask_once(setup.config, setup.env, model))
    return say(_pretty(msgspec.to_builtins(answer))) if given.on("json") else tell(str(answer))


def show_chain(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show which models take over."""
    setup = _set_up(given, env)
    choice = _choice(setup)
    first = catalog.find(setup.model, choice.own)
    links: list[dict[str, Any]] = []
    for name in (setup.model, *choose_fallbacks(setup.options, setup.config, setup.env)):
        model, line = catalog.find(name, choice.own), offer(name, choice)
        notes = [*fallbacks.shortcomings(first, model), *fallbacks.price_change(first, model)]
        if line.key == "missing":
            notes.insert(0, f"No key. Add one with: bridle auth login {line.vendor}")
        links.append(msgspec.to_builtins(line) | {"notes": notes})
    if given.on("json"):
        return say(_pretty(links))
    lines: list[str] = []
    for number, link in enumerate(links, 1):
        lines.append(f"{number}. {link['model']}  {_count(link['window'])} window, {_price(link)}")
        lines += [f"   {note}" for note in link["notes"]]
    if len(links) == 1:
        lines.append("No fallback model: name some with --fallback-model a,b or the setting fallbackModel.")
    return tell(*lines)


def _table(found: Sequence[ModelListing]) -> list[str]:
    head = ("MODEL", "ID", "VENDOR", "WINDOW", "OUTPUT", "IN", "OUT", "CAN", "KEY")
    rows = [head, *(_row(each) for each in found)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _row(each: ModelListing) -> tuple[str, ...]:
    key = each.key_source or each.key
    return (
        each.value,
        "" if each.value == each.model else each.model,
        each.vendor,
        _count(each.window),
        _count(each.max_output),
        "?" if each.input_price is None else f"{each.input_price:g}",
        "?" if each.output_price is None else f"{each.output_price:g}",
        ",".join(each.capabilities),
        key if each.allowed else f"{key}, not in availableModels",
    )


def _price(link: Mapping[str, Any]) -> str:
    if link["input_price"] is None:
        return "price not known"
    return f"${link['input_price']:g} in, ${link['output_price']:g} out per million tokens"


def _count(tokens: int) -> str:
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}m"
    return f"{tokens // 1000}k" if tokens >= 1000 else str(tokens)


def _told(value: Any) -> str:
    match value:
        case list() | tuple():
            return ", ".join(map(str, value))
        case bool():
            return "yes" if value else "no"
        case None:
            return ""
        case _:
            return str(value)


def _choice(setup: Setup) -> Choice:
    own = setup.config.raw.get("bridleModels") or {}
    return Choice(settings=setup.config.settings, own=own, env=setup.env)


def _set_up(given: ParsedArguments, env: Mapping[str, str]) -> Setup:
    return set_up(session_options(given.only(*_PASSED_ON)), env)


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
