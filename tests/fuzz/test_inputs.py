"""No settings, state file, transcript, message, request or path from outside breaks a promise."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.inputs import TARGETS, try_once
from fuzz.playground import Playground, make_playground, remove


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    made = make_playground()
    yield made
    remove(made)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(min_size=4, max_size=120))
@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_from_outside_keeps_the_promises(name: str, playground: Playground, data: bytes):
    try_once(name, data, playground)
