"""Fast mode asks for faster answers where a model has them, and only there."""

from pathlib import Path
from typing import Any

import msgspec

from bridle.engine.loop import run_turn
from bridle.engine.runtime import ModelFacts
from bridle.features.fast_mode.feature import FastModeFeature, open_fast_mode
from bridle.providers import catalog
from bridle.providers.scripted import ScriptedProvider, says
from bridle.types.errors import ProviderError
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from bridle.types.usage import Usage
from tests.fakes.engine import facts, make_runtime, make_session
from tests.fakes.features import feature_context, settings


def _facts(model: str) -> ModelFacts:
    return msgspec.structs.replace(facts(model), fast_factor=2.0 if model == "model-a" else 0.0)


async def _asked(folder: Path, mode: FastModeFeature, *script: Any) -> list[tuple[bool, bool]]:
    """Of each request: whether its body and its headers ask for a fast answer."""
    model = ScriptedProvider(script)
    runtime = make_runtime(folder, mode.around(model))
    outcome = await run_turn(make_session(), Prompt(content="hi", origin=TYPED), runtime)
    assert outcome.text == "Hello."
    found = [each.request for each in model.requests]
    return [("speed" in each.extra, "fast-mode-2026-02-01" in each.betas) for each in found]


async def test_a_request_asks_for_it_while_it_is_on(tmp_path: Path):
    mode = FastModeFeature(_facts)
    assert mode.provider(model := ScriptedProvider([])) is model
    mode.switch(on=True)
    assert await _asked(tmp_path, mode, says("Hello.")) == [(True, True)]
    assert mode.around(model) is model
    assert (mode.objection("model-b") or "").startswith("model-b has no fast mode.")


async def test_a_refusal_is_followed_by_a_usual_request_and_a_rest(tmp_path: Path):
    said: list[str] = []
    now = [0.0]
    mode = FastModeFeature(_facts, on=True, tell=said.append, clock=lambda: now[0])
    refusal = ProviderError("no capacity", kind="rate_limit", status=429)
    assert await _asked(tmp_path, mode, refusal, says("Hello.")) == [(True, True), (False, False)]
    assert mode.state == "cooldown" and len(said) == 1
    now[0] = 601.0
    assert mode.state == "on"


def test_the_settings_and_the_environment_decide_at_the_start(tmp_path: Path):
    def state(flag: str = "{}", **env: str) -> str:
        return open_fast_mode(feature_context(tmp_path, config=settings(tmp_path, flag), env=env)).state

    assert state() == "off" and state('{"fastMode": true}') == "on"
    assert state('{"fastMode": true, "fastModePerSessionOptIn": true}') == "off"
    assert state('{"fastMode": true}', CLAUDE_CODE_DISABLE_FAST_MODE="1") == "off"
    assert state('{"fastMode": true}', CLAUDE_CODE_USE_BEDROCK="1") == "off"


def test_a_fast_answer_is_counted_at_its_price():
    model = catalog.find("claude-opus-5-5", None)
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    usual = catalog.cost(model, Usage.from_api(usage))
    assert catalog.cost(model, Usage.from_api({**usage, "speed": "fast"})) == 2 * usual
    assert catalog.find("claude-sonnet-5-5", None).fast_factor == 0
