import json
from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.fleet.records import Check, RunOptions, Task
from bridle.frontends.fleet.task_files import narrowed, read_tasks
from bridle.types.errors import UsageError


def test_lines_of_json_become_tasks_with_the_names_that_other_tools_use(tmp_path: Path):
    path = tmp_path / "tasks.jsonl"
    rows = [
        {"prompt": "One"},
        {
            "id": "two", "prompt": "Two {{count}}", "variables": {"count": 2}, "permissionMode": "plan",
            "checks": "make test", "setup": ["make"], "maxTurns": 4, "labels": {"kind": "bug"},
        },
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")

    assert read_tasks(str(path)) == [
        Task(id="0001", prompt="One"),
        Task(
            id="two",
            prompt="Two 2",
            mode="plan",
            checks=(Check(run="make test"),),
            setup=("make",),
            turns=4,
            labels={"kind": "bug"},
        ),
    ]


def test_columns_of_a_table_fill_the_template(tmp_path: Path):
    path = tmp_path / "tasks.csv"
    path.write_text('id,title,budget,labels\na,"Fix ""x""",0.5,"{""k"": ""v""}"\nb,Two,,\n', encoding="utf-8")

    assert read_tasks(str(path), template="Please: {{title}} ({{id}})") == [
        Task(id="a", prompt='Please: Fix "x" (a)', budget=0.5, labels={"k": "v"}),
        Task(id="b", prompt="Please: Two (b)"),
    ]


def test_a_folder_holds_a_task_in_each_file_and_folder(tmp_path: Path):
    (tmp_path / "first.md").write_text("Do the first.\n")
    (tmp_path / "second.json").write_text('{"prompt": "Do the second."}')
    (tmp_path / "third" / "files").mkdir(parents=True)
    (tmp_path / "third" / "prompt.md").write_text("Do the third.")
    (tmp_path / "notes").mkdir()

    assert read_tasks(str(tmp_path)) == [
        Task(id="first", prompt="Do the first."),
        Task(id="second", prompt="Do the second."),
        Task(id="third", prompt="Do the third.", folder=str(tmp_path / "third" / "files")),
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("[1]", "a task is a JSON object"),
        ('{"prompt": 3}', "the task has no prompt"),
        ('{"prompt": "x", "promt": "y"}', "unknown field 'promt': did you mean prompt?"),
        ('{"prompt": "{{who}}"}', "the prompt asks for {{who}}"),
        ('{"prompt": "x", "id": "../x"}', "must be letters, digits"),
        ('{"prompt": "x", "mode": "yolo"}', "unknown mode 'yolo'"),
        ('{"prompt": "x", "budget": -1}', "budget must be 0 or more"),
        ('{"prompt": "x", "timeout": "soon"}', "timeout: Expected `float`"),
        ('{"prompt": "x", "base": "main"}', "base needs a repository"),
        ('{"prompt": "x", "env": {"TOKEN": "abc"}}', "allow them with --secret"),
        ('{"prompt": "x", "files": {"../up": ""}}', "paths inside the work folder"),
        ('{"prompt": "x", "folder": "/etc"}', "is outside the folder of the tasks: add --allow-folder /"),
        ('{"prompt": "x", "folder": "gone"}', "folder gone does not exist"),
        ('{"prompt": "x", "repository": "ext::sh -c evil"}', "does not exist"),
        ('{"prompt": "x", "secrets": ["a b"]}', "the name of a variable, not its value"),
        ("{", "not JSON"),
        ('{"prompt": "x", "program": "/usr/bin/other"}', "unknown field 'program'"),
        ('{"prompt": "x", "settings": "{}"}', "unknown field 'settings'"),
    ],
)  # fmt: skip
def test_a_task_that_cannot_be_run_is_refused_with_its_line(tmp_path: Path, row: str, said: str):
    path = tmp_path / "tasks.jsonl"
    path.write_text(f'{{"prompt": "fine"}}\n{row}\n', encoding="utf-8")

    with pytest.raises(UsageError) as refused:
        read_tasks(str(path))

    assert f"{path}:2" in str(refused.value)
    assert said in str(refused.value)


def test_two_tasks_never_share_an_id(tmp_path: Path):
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}\n', encoding="utf-8")

    with pytest.raises(UsageError, match=r"the id 'a' is taken by .*:1"):
        read_tasks(str(path))


def test_a_link_does_not_lead_out_of_the_folder_of_the_tasks(tmp_path: Path):
    outside, own = tmp_path / "outside", tmp_path / "own"
    outside.mkdir()
    own.mkdir()
    (own / "link").symlink_to(outside)
    (own / "tasks.jsonl").write_text('{"prompt": "x", "folder": "link"}\n')

    with pytest.raises(UsageError, match="is outside the folder"):
        read_tasks(str(own / "tasks.jsonl"))
    assert read_tasks(str(own / "tasks.jsonl"), allowed=[str(outside)])[0].folder == str(outside)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"mode": "bypassPermissions"}, "wider than acceptEdits"),
        ({"secrets": ("TOKEN",)}, "add --secret TOKEN"),
    ],
)
def test_a_task_cannot_have_more_than_the_run_allows(fields: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=said):
        narrowed(Task(id="a", prompt="x", **fields), RunOptions())


def test_a_task_may_have_less_than_the_run_allows():
    task = narrowed(Task(id="a", prompt="x", mode="plan"), RunOptions(model="haiku"))

    assert (task.mode, task.model) == ("plan", "haiku")
