from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bridle.commands.catalog import CATALOG
from bridle.commands.registry import Registry, nearest
from bridle.types.command import Command, CommandSource, Says
from tests.fakes.commanded import Commanded

_NAMES = [name for listing in CATALOG for name in (listing.name, *listing.aliases)]


async def _run(arguments: str, context: object) -> Says:
    del context
    return Says(f"other {arguments}")


def _command(name: str, source: CommandSource = "user") -> Command:
    return Command(name=name, description="of mine", run=_run, source=source)


def test_names_and_aliases_are_unique():
    assert len(_NAMES) == len(set(_NAMES))


@pytest.mark.parametrize("listing", CATALOG, ids=lambda listing: listing.name)
def test_every_listing_leads_to_a_function_and_says_what_it_does(listing: object):
    assert listing in CATALOG
    listed = next(each for each in CATALOG if each is listing)
    module = import_module(listed.module)
    assert iscoroutinefunction(getattr(module, listed.function))
    assert listed.description and not listed.description.endswith(".")
    assert not listed.completes or callable(module.complete)


def test_commands_are_found_by_name_and_by_alias():
    registry = Registry()
    clear = registry.find("clear")
    assert clear is not None and registry.find("new") == clear and registry.find("reset") == clear
    assert registry.find("frobnicate") is None


def test_built_in_commands_come_first_and_some_give_way_to_skills():
    brought = (_command("clear"), _command("init"), _command("deploy"))
    registry = Registry(sources=[lambda: brought])
    found = [registry.find(name) for name in ("clear", "init", "deploy")]
    assert [each.source for each in found if each is not None] == ["builtin", "user", "user"]
    assert len({each.name for each in registry.all()}) == len(registry.all())


def test_sources_are_asked_anew_at_each_look():
    brought: list[Command] = []
    registry = Registry()
    registry.add(lambda: brought)
    assert registry.find("late") is None
    brought.append(_command("late"))
    assert registry.find("late") == brought[0]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("clera", "clear"), ("hlep", "help"), ("conf", "config"), ("setings", "config"), ("xyzzyq", None)],
)
def test_unknown_names_suggest_the_nearest(typed: str, meant: str | None):
    assert Registry().nearest(typed) == meant


@given(st.sampled_from(_NAMES))
def test_a_name_is_nearest_to_itself(name: str):
    registry = Registry()
    found = registry.find(name)
    assert found is not None and nearest(name, registry.all()) == found.name


def test_arguments_are_completed_from_fixed_words_and_from_the_session(tmp_path: Path):
    commanded = Commanded(tmp_path)
    effort, model = commanded.registry.find("effort"), commanded.registry.find("model")
    assert effort is not None and effort.complete is not None and effort.complete("m") == ("medium", "max")
    assert model is not None and model.complete is not None and "opus" in model.complete("o")


def test_listing_for_hosts_has_the_fields_they_know():
    clear = Registry().find("clear")
    assert clear is not None
    assert clear.listing() == {
        "name": "clear",
        "description": "Start a new conversation",
        "argumentHint": "[name]",
        "aliases": ["reset", "new"],
        "builtin": True,
    }


def test_a_name_goes_before_the_alias_of_another_command():
    other = replace(_command("code-review"), aliases=("review",))
    assert nearest("revew", [_command("review"), other]) == "review"
