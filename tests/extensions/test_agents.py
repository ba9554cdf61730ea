from pathlib import Path

import pytest

from bridle.extensions.agents import AgentFiles, FileAgent, load_agents
from bridle.extensions.index import Index
from bridle.extensions.roots import Root
from bridle.types.errors import ToolError


def write(file: Path, header: str, body: str = "You are an agent.") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\n{header}\n---\n{body}\n")
    return file


def root(path: Path, source: str = "project", prefix: str = "") -> Root:
    assert source in ("managed", "user", "project", "plugin")
    return Root(kind="agents", path=str(path), source=source, prefix=prefix)


FULL = """\
name: reviewer
description: Reviews
tools: Read, Grep, Agent(a, b)
disallowedTools: [Write]
model: Inherit
effort: high
permissionMode: plan
maxTurns: 7
skills: [one, two]
mcpServers:
  - github
  - slack: {command: slack}
  - {name: db, command: psql, args: [x]}
hooks: {Stop: []}
memory: project
background: yes
isolation: worktree
color: blue
initialPrompt: Begin
omitClaudeMd: true
autoCompactWindow: 200000
"""


def test_every_field_of_a_file_is_read(tmp_path: Path):
    file = write(tmp_path / "a" / "r.md", FULL)
    found = load_agents(Index(str(tmp_path / "i")), [root(tmp_path / "a")])
    assert found.problems == ()
    assert found.definitions == (
        FileAgent(
            name="reviewer",
            description="Reviews",
            source="project",
            file=str(file),
            tools=("Read", "Grep", "Agent(a, b)"),
            disallowed_tools=("Write",),
            model="inherit",
            effort="high",
            permission_mode="plan",
            max_turns=7,
            skills=("one", "two"),
            mcp_servers=(
                "github",
                {"slack": {"command": "slack"}},
                {"db": {"command": "psql", "args": ["x"]}},
            ),
            hooks={"Stop": []},
            memory="project",
            background=True,
            isolation="worktree",
            color="blue",
            initial_prompt="Begin",
            omit_instructions=True,
            auto_compact_window=200_000,
        ),
    )


def test_optional_fields_of_the_wrong_kind_are_dropped_one_by_one(tmp_path: Path):
    write(
        tmp_path / "a" / "x.md",
        "name: x\ndescription: d\nmaxTurns: many\neffort: huge\ncolor: beige\nmemory: moon\nhooks: no\n"
        "model: 3\npermissionMode: yolo\nisolation: island\ntools: '*'",
    )
    (agent,) = load_agents(Index(str(tmp_path / "i")), [root(tmp_path / "a")]).definitions
    assert agent == FileAgent(name="x", description="d", source="project", file=str(tmp_path / "a/x.md"))
    assert agent.prompt == "You are an agent."


def test_prompt_is_read_when_it_is_needed(tmp_path: Path):
    file = write(tmp_path / "a" / "x.md", "name: x\ndescription: d")
    (agent,) = load_agents(Index(str(tmp_path / "i")), [root(tmp_path / "a")]).definitions
    file.write_text(file.read_text().replace("You are an agent.", "You are another."))
    assert agent.prompt == "You are another."
    file.unlink()
    with pytest.raises(ToolError, match="could not be read"):
        _ = agent.prompt


def test_empty_list_of_tools_means_none(tmp_path: Path):
    write(tmp_path / "a" / "x.md", "name: x\ndescription: d\ntools: []")
    (agent,) = load_agents(Index(str(tmp_path / "i")), [root(tmp_path / "a")]).definitions
    assert agent.tools == ()


def test_what_is_no_agent_is_passed_over_and_what_is_a_bad_one_is_named(tmp_path: Path):
    folder = tmp_path / "a"
    write(folder / "README.md", "title: Notes")
    write(folder / "colon.md", "name: 'a:b'\ndescription: d")
    write(folder / "dash.md", "name: '-a'\ndescription: d")
    write(folder / "mute.md", "name: mute")
    write(folder / "broken.md", "name: [x")
    write(folder / "sub" / "good.md", "name: good\ndescription: d")
    found = load_agents(Index(str(tmp_path / "i")), [root(folder)])
    assert [agent.name for agent in found.definitions] == ["good"]
    assert sorted(Path(problem.file).name for problem in found.problems) == [
        "broken.md",
        "colon.md",
        "dash.md",
        "mute.md",
    ]


def test_weightier_root_wins_a_name_and_the_other_is_reported(tmp_path: Path):
    write(tmp_path / "m" / "x.md", "name: x\ndescription: managed")
    hidden = write(tmp_path / "u" / "x.md", "name: x\ndescription: user")
    found = load_agents(
        Index(str(tmp_path / "i")), [root(tmp_path / "m", "managed"), root(tmp_path / "u", "user")]
    )
    assert [agent.description for agent in found.definitions] == ["managed"]
    assert [problem.file for problem in found.problems] == [str(hidden)]


def test_plugin_agents_are_named_after_plugin_and_folders_and_may_do_less(tmp_path: Path):
    write(tmp_path / "p" / "deep" / "r.md", FULL)
    (agent,) = load_agents(Index(str(tmp_path / "i")), [root(tmp_path / "p", "plugin", "acme")]).definitions
    assert agent.name == "acme:deep:reviewer"
    assert (agent.permission_mode, agent.hooks, agent.mcp_servers, agent.initial_prompt) == (
        None,
        {},
        (),
        None,
    )
    assert agent.tools == ("Read", "Grep", "Agent(a, b)")


def test_agents_are_looked_up_anew_within_a_second(tmp_path: Path):
    moments = iter([0.0, 0.5, 1.0])
    files = AgentFiles(
        Index(str(tmp_path / "i")), lambda: [root(tmp_path / "a")], clock=lambda: next(moments)
    )
    assert files.definitions() == ()
    write(tmp_path / "a" / "x.md", "name: x\ndescription: d")
    assert files.definitions() == ()
    assert [agent.name for agent in files.definitions()] == ["x"]


@pytest.mark.parametrize(
    "value", ["true", "[]", "{a: b}", "-1", "1.5", ".nan", "0", "'3'", "99999999999999999999"]
)
def test_numbers_of_the_wrong_kind_are_as_if_they_were_not_there(tmp_path: Path, value: str):
    header = f"name: a\ndescription: d\nmaxTurns: {value}\neffort: {value}\nautoCompactWindow: {value}"
    write(tmp_path / "a" / "r.md", header)
    (agent,) = load_agents(Index(str(tmp_path / "i")), [root(tmp_path / "a")]).definitions
    assert (agent.max_turns, agent.effort, agent.auto_compact_window) == (None, None, None)


@pytest.mark.parametrize("name", ["7", "[a]", "true", '"a\\nb"', '"a\\e[31m"'])
def test_a_name_that_is_no_word_is_told(tmp_path: Path, name: str):
    write(tmp_path / "a" / "r.md", f"name: {name}\ndescription: d")
    found = load_agents(Index(str(tmp_path / "i")), [root(tmp_path / "a")])
    assert found.definitions == () and [problem.key for problem in found.problems] == ["name"]
