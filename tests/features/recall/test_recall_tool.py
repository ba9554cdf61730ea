"""What the model may find of earlier conversations."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bridle.features.recall import index
from bridle.features.recall.feature import open_recall
from bridle.features.recall.recall_tool import RecallInput, recall_tool
from bridle.types.errors import ToolError
from bridle.types.permission import Permit
from tests.fakes.features import feature_context
from tests.fakes.tool_context import make_context
from tests.features.recall.corpus import calls, claude, environment


async def _recall(folder: Path, query: str, *, everywhere: bool = False, hidden: str = "") -> str:
    shop = str(folder / "shop")
    env = environment(folder) | {"BRIDLE_TRUST_FOLDER": shop}
    permit = Permit(hides=lambda path: bool(hidden) and path.endswith(hidden))
    context = replace(make_context(folder, session_id="now"), permit=permit)
    tool = recall_tool(env, shop)
    return str((await tool.run(RecallInput(query=query, everywhere=everywhere), context)).content)


async def test_the_model_finds_its_own_project_and_others_where_they_are_trusted(tmp_path: Path):
    shop, other = str(tmp_path / "shop"), str(tmp_path / "other")
    claude(tmp_path, "one", ("user", "an otter here"), cwd=shop)
    claude(tmp_path, "two", ("user", "an otter elsewhere"), cwd=other)
    claude(tmp_path, "now", ("user", "find the otter"), cwd=shop)

    found = await _recall(tmp_path, "otter")
    assert "an otter here" in found and "bridle --resume one" in found
    assert "elsewhere" not in found and "find the otter" not in found
    # The other folder is not trusted.
    assert "elsewhere" not in await _recall(tmp_path, "otter", everywhere=True)
    assert await _recall(tmp_path, "zebra") == "No earlier conversation contains all of these words."
    with pytest.raises(ToolError):
        await _recall(tmp_path, "***")


async def test_what_was_said_about_hidden_files_stays_hidden(tmp_path: Path):
    shop = str(tmp_path / "shop")
    claude(tmp_path, "one", ("assistant", calls("Read", file_path=f"{shop}/secret.txt")), cwd=shop)
    assert "secret" in await _recall(tmp_path, "secret")
    assert (
        await _recall(tmp_path, "secret", hidden="secret.txt")
        == "No earlier conversation contains all of these words."
    )


def test_only_a_search_of_other_projects_is_asked_about():
    tool = recall_tool({}, "/work")
    assert tool.read_only(RecallInput(query="x")) and not tool.read_only(
        RecallInput(query="x", everywhere=True)
    )
    assert tool.subject(RecallInput(query="x")) == "x" and tool.deferred


def test_there_is_a_tool_only_where_there_is_an_index_and_trust(tmp_path: Path):
    env = environment(tmp_path)
    assert open_recall(feature_context(tmp_path, env=env)) is None
    index.update(env)
    feature = open_recall(feature_context(tmp_path, env=env))
    assert feature is not None and [tool.name for tool in feature.tools()] == ["Recall"]
    assert open_recall(feature_context(tmp_path, env=env, trusted=False)) is None
