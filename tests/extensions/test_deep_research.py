from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridle.extensions.index import Index
from bridle.extensions.workflows import BUNDLED_WORKFLOWS, load_workflows
from bridle.host.scripts.protocol import ScriptCall
from tests.fakes.scripts import Ran, run_script

Votes = Callable[[str, int], str | None]
"""What a skeptic says of a claim, by its number."""


def _always(claim: str, number: int) -> str:
    return "confirmed"


async def _research(tmp_path: Path, args: Any, votes: Votes = _always, **more: Any) -> Ran:
    files, problems = load_workflows(Index(str(tmp_path / "i")), [BUNDLED_WORKFLOWS])
    assert problems == ()
    return await run_script(
        files["deep-research"].read(), lambda call: _answer(call, votes), args=args, **more
    )


def _answer(call: ScriptCall, votes: Votes) -> Any:
    label: str = call.payload["options"]["label"]
    kind, _, rest = label.partition(": ")
    match kind.split():
        case ["plan"]:
            return {"angles": [{"title": f"angle {i}", "task": "look"} for i in range(9)]}
        case ["search"]:
            own = {"url": f"https://own.example/{rest[-1]}", "title": f"own {rest[-1]}"}
            return {"sources": [{"url": "https://shared.example/#part", "title": "shared"}, own]}
        case ["read"]:
            claims = [{"claim": f"{rest} says {i}", "quote": "so"} for i in range(2)]
            return None if rest == "own 2" else {"claims": claims}
        case ["skeptic", number]:
            verdict = votes(rest, int(number))
            return None if verdict is None else {"verdict": verdict, "reason": f"because {number}"}
        case _:
            return "# The report"


async def test_question_becomes_a_report_through_every_phase(tmp_path: Path):
    ran = await _research(tmp_path, "Is it so?")
    assert ran.value == "# The report"
    assert ran.said("phase") == ["Plan", "Search", "Read", "Verify", "Report"]
    kinds = [call.payload["options"]["label"].split(":")[0] for call in ran.calls if call.kind == "agent"]
    # Five angles find one shared page and one of their own each; one page of six gives nothing.
    assert [kinds.count(kind) for kind in ("plan", "search", "read", "report")] == [1, 5, 6, 1]
    assert [kinds.count(f"skeptic {number}") for number in (1, 2, 3)] == [10, 10, 10]
    assert ran.said("log") == ["6 sources from 5 angles", "10 claims to verify", "10 claims hold, 0 do not"]


async def test_only_a_majority_that_confirms_keeps_a_claim(tmp_path: Path):
    def votes(claim: str, number: int) -> str | None:
        verdicts: dict[str, tuple[str | None, ...]] = {
            "shared says 0": ("confirmed", None, "confirmed"),
            "shared says 1": ("confirmed", None, None),
            "own 0 says 0": (None, None, None),
            "own 0 says 1": ("confirmed", "refuted", "refuted"),
            "own 1 says 0": ("unclear", "unclear", "confirmed"),
        }
        return verdicts.get(claim, ("refuted",) * 3)[number - 1]

    ran = await _research(tmp_path, "Is it so?", votes)
    report = ran.said("agent")[-1]
    verified, _, doubted = report.partition("Claims that did not hold")
    assert "- shared says 0 [1]" in verified and verified.count("says") == 1
    assert doubted.count("says") == 9 and "[1] https://shared.example/" in doubted
    assert "- own 0 says 1 (https://own.example/0): because 1 / because 2 / because 3" in doubted


@pytest.mark.parametrize(("depth", "angles", "skeptics"), [("quick", 3, 2), ("normal", 5, 3), ("deep", 8, 3)])
async def test_depth_scales_the_work(tmp_path: Path, depth: str, angles: int, skeptics: int):
    ran = await _research(tmp_path, {"question": "Is it so?", "depth": depth})
    labels = [call.payload["options"]["label"] for call in ran.calls if call.kind == "agent"]
    assert sum(label.startswith("search") for label in labels) == angles
    assert len({label.split(":")[0] for label in labels if label.startswith("skeptic")}) == skeptics


async def test_small_budget_makes_it_quick(tmp_path: Path):
    ran = await _research(tmp_path, "Is it so?", budget=100_000)
    assert sum(call.payload.get("phase") == "Search" for call in ran.calls) == 3


@pytest.mark.parametrize("args", ["", "  ", {}, {"depth": "deep"}, None])
async def test_question_is_needed(tmp_path: Path, args: Any):
    assert "give the question as args" in (await _research(tmp_path, args)).error.message


async def test_unknown_depth_is_told(tmp_path: Path):
    ran = await _research(tmp_path, {"question": "x", "depth": "abyss"})
    assert ran.error.message == "there is no depth abyss: take quick, normal or deep"


async def test_agents_that_all_fail_leave_an_honest_report(tmp_path: Path):
    files, _ = load_workflows(Index(str(tmp_path / "i")), [BUNDLED_WORKFLOWS])
    ran = await run_script(files["deep-research"].read(), lambda _: None, args="Is it so?")
    assert ran.value == "# Is it so?\n\nNothing could be verified.\n\n"
