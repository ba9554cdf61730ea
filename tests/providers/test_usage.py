from typing import Any

import pytest

from bridle.providers.connect import home_provider
from bridle.providers.http_provider import HttpProvider
from bridle.providers.usage import limit_of
from bridle.types.errors import ProviderError
from bridle.types.history import History
from bridle.types.model import LimitReported, ModelRequest
from tests.fakes.messages_server import MessagesServer, fault, step

_HEADERS = {
    "anthropic-ratelimit-unified-status": "allowed_warning",
    "anthropic-ratelimit-unified-reset": "1794753413",
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
    "anthropic-ratelimit-unified-5h-utilization": "0.91",
}
_INFO = {
    "status": "allowed_warning",
    "resetsAt": 1794753413,
    "rateLimitType": "five_hour",
    "utilization": 0.91,
}


def test_headers_become_the_state_of_the_limit_that_counts():
    assert limit_of(_HEADERS) == _INFO
    assert limit_of({"anthropic-ratelimit-unified-status": "rejected"}) == {"status": "rejected"}


@pytest.mark.parametrize(
    "headers",
    [{}, {"anthropic-ratelimit-unified-status": "odd"}, {"anthropic-ratelimit-requests-limit": "50"}],
)
def test_a_service_that_tells_nothing_usable_has_no_limit_to_report(headers: dict[str, str]):
    assert limit_of(headers) is None


async def test_a_limit_is_told_when_it_changes_and_before_a_refusal():
    used_up = {**_HEADERS, "anthropic-ratelimit-unified-status": "rejected"}
    script = [step("a", headers=_HEADERS), step("b", headers=_HEADERS), fault(429, headers=used_up)]
    async with MessagesServer(script) as server:
        provider = home_provider({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"})
        told = [await limits(provider) for _ in range(2)]
        heard: list[Any] = []
        with pytest.raises(ProviderError):
            await limits(provider, heard)
        await provider.close()
    assert told == [[_INFO], []]
    assert heard == [{**_INFO, "status": "rejected"}]


async def limits(provider: HttpProvider, heard: list[Any] | None = None) -> list[Any]:
    heard = [] if heard is None else heard
    request = ModelRequest(
        model="claude-sonnet-4-5", history=History.of({"role": "user", "content": "Hi"}), max_tokens=9
    )
    async for event in provider.stream(request):
        if isinstance(event, LimitReported):
            heard.append(dict(event.info))
    return heard
