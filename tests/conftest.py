"""How the whole suite runs."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

# The machine may be busy, and a suite that fails now and then is worth little: the same examples every time.
settings.register_profile(
    "steady", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
# HYPOTHESIS_PROFILE=explore looks for new examples.
settings.register_profile("explore", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


# No test reads the start-up files of the person who runs it; those of a home of its own are asked for.
os.environ["BRIDLE_STARTUP_FILES"] = "0"

gc.disable()  # What is collected stays to the end.


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes a minute is begun first: nobody waits for it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """Collected tests stay to the end: nothing among them is looked at for garbage."""
    gc.collect()
    gc.freeze()
    gc.enable()
    # Tests make much and keep little: looking for circles as often as usual takes a twentieth of the time.
    gc.set_threshold(50_000, 20, 50)
