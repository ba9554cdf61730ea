from typing import Any

from bridle.frontends.tui.chat.workflow_rows import WorkflowRows
from bridle.frontends.tui.style.text import text_of
from bridle.types.event import FromAgent, ToolStarted
from bridle.types.services.tasks import Task, TaskUsage


def _task(id: str = "wf_1", **more: Any) -> Task:
    fields: dict[str, Any] = {
        "kind": "local_workflow",
        "description": "review-all: Reviews",
        "call_id": f"call-{id}",
        "output_file": "/o",
        "started": 100.0,
        "name": "review-all",
        **more,
    }
    return Task(id=id, **fields)


def _rows(rows: WorkflowRows, width: int = 100, height: int = 30) -> list[str]:
    return [text_of(line) for line in rows.rows(width, height, frame=0)]


def _from_agent(call_id: str, event: Any = None) -> FromAgent:
    started = event or ToolStarted(call_id="c", tool="Bash", input={})
    return FromAgent(call_id=call_id, agent_id="a", agent_type="t", description="", event=started)


def test_a_run_at_work_is_one_row_until_it_is_over():
    rows = WorkflowRows(lambda: 175.0)
    assert rows.take(_task())
    assert _rows(rows) == ["◐ review-all · 1 min 15 s · /workflows"]
    rows.take(_task(usage=TaskUsage(9_050)), "Read: 1 of 4 agents done")
    said = "◐ review-all · Read: 1 of 4 agents done · 1 min 15 s · 9.1k tokens · /workflows"
    assert _rows(rows) == [said]
    rows.take(_task(usage=TaskUsage(9_050)))
    assert _rows(rows) == [said]
    rows.take(_task(status="completed"))
    assert _rows(rows) == []
    assert not rows


def test_other_jobs_have_no_row():
    rows = WorkflowRows(lambda: 0.0)
    assert not rows.take(_task(kind="local_agent"))
    assert not rows


def test_many_runs_and_long_names_leave_room_for_the_rest():
    rows = WorkflowRows(lambda: 100.0)
    for at in range(5):
        rows.take(_task(f"wf_{at}", name="\x1b[31m" + "n" * 200))
    shown = _rows(rows, 60)
    assert len(shown) == 4 and shown[-1].strip() == "… 2 more, see /workflows"
    assert all(len(row) <= 60 and "\x1b" not in row for row in shown)
    assert _rows(rows, height=7) == []


def test_what_agents_of_a_run_do_belongs_to_the_run_and_so_do_their_own_agents():
    rows = WorkflowRows(lambda: 100.0)
    rows.take(_task())
    assert rows.owns(_from_agent("call-wf_1"))
    assert not rows.owns(_from_agent("inner"))
    assert rows.owns(_from_agent("call-wf_1", ToolStarted(call_id="inner", tool="Agent", input={})))
    assert rows.owns(_from_agent("inner"))
    rows.take(_task(status="failed"))
    assert not rows.owns(_from_agent("inner"))
