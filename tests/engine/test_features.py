"""Features of a session: found by key, called by moment, inherited only where they say so."""

from pathlib import Path
from typing import Any, cast

from bridle.engine.assignment import Assignment
from bridle.engine.feature import Feature, Features
from bridle.features.registry import open_features
from bridle.types.services.service import Service
from tests.fakes.features import feature_context

_KEY: Service[str] = Service("word", missing="There is no word here.")
_WORK = cast("Assignment", None)
"""No feature here asks for whom it is."""


class _Silent(Feature):
    """Says nothing of agents."""

    def __init__(self) -> None:
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1


class _Shared(_Silent):
    def part(self, key: Service[Any]) -> Any:
        return "shared" if key is _KEY else None

    def for_agent(self, work: Assignment) -> Feature:
        return self


class _Own(_Silent):
    def __init__(self) -> None:
        super().__init__()
        self.made: list[_Own] = []

    def for_agent(self, work: Assignment) -> Feature:
        self.made.append(_Own())
        return self.made[-1]


async def test_an_agent_inherits_what_says_so_and_closes_what_is_its_own():
    silent, shared, own = _Silent(), _Shared(), _Own()
    session = Features([silent, shared, own])
    agent = session.for_agent(_WORK)
    below = agent.for_agent(_WORK)
    assert list(agent) == [shared, own.made[0]]
    assert list(below) == [shared, own.made[0].made[0]]
    await below.close()
    await agent.close()
    assert [each.closed for each in (silent, shared, own, *own.made, *own.made[0].made)] == [0, 0, 0, 1, 1]
    await session.close()
    assert [each.closed for each in (silent, shared, own, *own.made)] == [1, 1, 1, 1]


def test_what_a_feature_offers_is_found_by_its_key():
    assert Features([_Silent(), _Shared()]).find(_KEY) == "shared"
    assert Features([_Shared()]).find(Service("word", missing="")) is None
    assert Features().find(_KEY) is None


def test_every_feature_of_the_registry_says_what_agents_have_of_it(tmp_path: Path):
    features = open_features(feature_context(tmp_path))
    silent = [each.name for each in features if type(each).for_agent is Feature.for_agent]
    assert silent == []
