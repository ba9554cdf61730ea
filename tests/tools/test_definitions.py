from typing import Any

import msgspec
import pytest

from bridle.tools import definitions
from bridle.tools.catalog import CATALOG, Listing
from bridle.tools.toolbox import choose


def test_the_file_says_what_the_code_says():
    with open(definitions.PATH, "rb") as file:
        assert file.read() == definitions.build(), "run `make definitions`"


@pytest.mark.parametrize("listing", CATALOG, ids=lambda listing: listing.name)
def test_every_tool_of_the_catalog_can_be_found(listing: Listing):
    tool = definitions.find_tool(listing)
    assert tool.name == listing.name
    assert tool.summary


def test_definitions_are_small():
    told = {listing.name for listing in CATALOG if not listing.deferred and not listing.opt_in}
    with open(definitions.PATH, "rb") as file:
        written = msgspec.json.decode(file.read(), type=dict[str, Any])
    always = {name: each for name, each in written.items() if name in told}
    # Those that are told by name alone until they are looked for cost nothing before that.
    assert len(msgspec.json.format(msgspec.json.encode(always), indent=1)) < 18_000
    # Those that somebody has to choose cost nothing before that either.
    assert not {listing.name for listing in CATALOG if listing.opt_in} & set(choose(with_person=True).names())
    for definition in definitions.load().values():
        assert 50 < len(definition.get("description", "")) < 3_000


def test_schemas_are_plain():
    for definition in definitions.load().values():
        schema = definition.get("input_schema", {})
        text = msgspec.json.encode(schema).decode()
        assert schema["type"] == "object" and schema.get("required") != []
        assert not any(f'"{word}"' in text for word in ("$ref", "null", "additionalProperties", "unlisted"))


def test_old_names_of_parameters_are_taken_and_not_told():
    tasks = definitions.load()["TaskStop"]
    assert list(tasks.get("input_schema", {})["properties"]) == ["task_id"]
    stop = choose().find("TaskStop")
    assert stop is not None
    assert stop.input(shell_id="b1").shell_id == "b1"


def test_tools_are_offered_in_the_order_of_their_names():
    names = [definition["name"] for definition in choose().definitions()]
    assert names == sorted(names) and "AskUserQuestion" not in names
    assert "AskUserQuestion" in choose(with_person=True).names()


def test_old_names_find_the_same_tool():
    toolbox = choose()
    assert toolbox.find("KillShell") is toolbox.find("TaskStop")
    assert toolbox.find("BashOutput") is toolbox.find("TaskOutput")
    assert toolbox.find("Nothing") is None


def test_selection_and_removal():
    assert choose(base=("Read", "KillShell")).names() == ("Read", "TaskStop")
    assert "Bash" not in choose(removed=("Bash",)).names()
    assert choose(removed=("*",)).names() == ()
    assert choose(base=()).names() == ()
