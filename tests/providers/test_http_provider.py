import pytest

from bridle.providers.http_provider import limits_of


@pytest.mark.parametrize(
    ("env", "idle"),
    [
        ({}, 90.0),
        ({"CLAUDE_STREAM_IDLE_TIMEOUT_MS": "120000"}, 120.0),
        ({"CLAUDE_STREAM_IDLE_TIMEOUT_MS": "120000", "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": "5000"}, 5.0),
        ({"CLAUDE_ENABLE_STREAM_WATCHDOG": "0"}, 600.0),
        ({"CLAUDE_ENABLE_STREAM_WATCHDOG": "0", "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": "5000"}, 5.0),
        ({"API_FORCE_IDLE_TIMEOUT": "0"}, 600.0),
        ({"API_FORCE_IDLE_TIMEOUT": "7000", "CLAUDE_STREAM_IDLE_TIMEOUT_MS": "120000"}, 7.0),
        ({"API_TIMEOUT_MS": "30000"}, 30.0),
        ({"CLAUDE_STREAM_IDLE_TIMEOUT_MS": "soon"}, 90.0),
    ],
)
def test_variables_say_how_long_a_stream_may_be_silent(env: dict[str, str], idle: float):
    assert limits_of(env, streamed=True).idle == idle


def test_a_whole_answer_has_one_limit_for_all_of_it():
    limits = limits_of({"API_TIMEOUT_MS": "30000"}, streamed=False)
    assert (limits.idle, limits.total) == (30.0, 30.0)


def test_a_server_at_home_may_think_for_longer():
    assert limits_of({}, streamed=True, silence=500.0).idle == 500.0
