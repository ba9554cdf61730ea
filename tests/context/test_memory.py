import os
from pathlib import Path

import pytest

from bridle.context.memory import (
    Topic,
    add_line,
    load_memory,
    memory_text,
    quick_places,
    read_topic,
    save_topic,
    topics,
)
from bridle.context.memory_folder import is_enabled, memory_folder


def _topic(name: str = "Port", body: str = "The port is 8081.") -> Topic:
    return Topic(name=name, description="Which port to use", kind="project", body=body)


def test_a_topic_is_written_with_its_line_in_the_index(tmp_path: Path):
    folder = str(tmp_path / "memory")

    file = save_topic(folder, _topic())

    assert file == "project_port.md"
    assert load_memory(folder).text == "- [Port](project_port.md): Which port to use"
    found, problems = topics(folder)
    assert (found[0].body, found[0].kind, problems) == ("The port is 8081.", "project", [])
    assert found[0].modified.endswith("Z")


def test_a_topic_replaces_the_one_with_its_name(tmp_path: Path):
    for body in ("8080", "8081"):
        save_topic(str(tmp_path), _topic(body=body))

    found, _ = topics(str(tmp_path))
    assert [topic.body for topic in found] == ["8081"]
    assert len(load_memory(str(tmp_path)).text.splitlines()) == 1


@pytest.mark.parametrize("body", ["", "AKIAABCDEFGHIJKLMNOP", "key sk-abcdefghijklmnopqrstuvwx"])
def test_secrets_and_empty_notes_are_not_kept(tmp_path: Path, body: str):
    with pytest.raises(ValueError, match=r"nothing|looks like"):
        save_topic(str(tmp_path), _topic(body=body))
    assert os.listdir(tmp_path) == []


def test_the_index_is_cut_to_what_a_session_may_be_given(tmp_path: Path):
    (tmp_path / "MEMORY.md").write_text("\n".join(f"- line {number}" for number in range(500)))
    memory = load_memory(str(tmp_path))
    assert memory.cut and len(memory.text.splitlines()) == 200

    (tmp_path / "MEMORY.md").write_text("ä" * 40_000 + "\n" + "x")
    assert len(load_memory(str(tmp_path)).text.encode()) <= 25_000
    assert "Only the beginning" in str(memory_text(str(tmp_path), memory))


def test_files_that_make_no_sense_are_named_and_left_out(tmp_path: Path):
    save_topic(str(tmp_path), _topic())
    (tmp_path / "bad.md").write_bytes(b"\xff\xfe")
    (tmp_path / "odd.md").write_text("---\ntype: weather\n---\nrain")
    (tmp_path / "headless.md").write_text("no head")

    found, problems = topics(str(tmp_path))

    assert [topic.name for topic in found] == ["Port"]
    assert {os.path.basename(text.removeprefix("Skipped ").split(": ")[0]) for text in problems} == {
        "bad.md",
        "odd.md",
        "headless.md",
    }

    (tmp_path / "MEMORY.md").write_bytes(b"\xff\xfe")
    assert "MEMORY.md" in load_memory(str(tmp_path)).problems[0]


def test_nothing_is_said_where_nothing_is_remembered(tmp_path: Path):
    assert memory_text(str(tmp_path), load_memory(str(tmp_path))) is None


def test_a_topic_file_of_another_program_is_read():
    topic = read_topic(
        '---\nname: "Style"\ndescription: d\ntype: feedback\nmodified: 2026\n---\nbody\n', "x.md"
    )
    assert (topic.name, topic.kind, topic.body) == ("Style", "feedback", "body")


def test_worktrees_of_a_repository_share_their_memory(tmp_path: Path):
    main, other = tmp_path / "main", tmp_path / "other"
    (main / ".git" / "worktrees" / "other").mkdir(parents=True)
    other.mkdir()
    (main / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (other / ".git").write_text(f"gitdir: {main}/.git/worktrees/other\n")
    state = main / ".git" / "worktrees" / "other"
    (state / "HEAD").write_text("ref: refs/heads/other\n")
    (state / "commondir").write_text("../..\n")
    (state / "gitdir").write_text(f"{other}/.git\n")
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}

    assert memory_folder(str(other), env) == memory_folder(str(main), env)


def test_a_variable_decides_before_the_setting():
    assert is_enabled({}, None) and not is_enabled({}, False)
    assert not is_enabled({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, True)
    assert is_enabled({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}, False)


def test_a_quick_note_is_one_line_at_the_end(tmp_path: Path):
    places = quick_places(
        str(tmp_path), {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}, str(tmp_path / "home")
    )
    Path(places["project"]).write_text("# Rules")

    add_line(places["project"], "use  tabs\nalways")
    add_line(places["memory"], "the port is 8081")

    assert Path(places["project"]).read_text() == "# Rules\n- use tabs always\n"
    assert Path(places["memory"]).read_text() == "- the port is 8081\n"
    with pytest.raises(ValueError, match="nothing"):
        add_line(places["project"], "  ")
