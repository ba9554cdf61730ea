"""The stand-in for the Messages API ends without a trace, whatever its connections do at that moment."""

import asyncio
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, step

_BODY = b'{"model": "m", "stream": true, "messages": []}'
_REQUEST = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


@pytest.mark.parametrize("turns", range(12))
@pytest.mark.parametrize("options", [{"silent_after": 0}, {"delay": 60}, {"close_after": 1}])
async def test_a_server_that_ends_while_a_client_hangs_up_says_nothing(turns: int, options: dict[str, Any]):
    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    async with asyncio.timeout(50):
        async with MessagesServer([step("x" * 1000, **options)]) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(_REQUEST)
            await server.arrived.wait()
            writer.close()
            for _ in range(turns):
                await asyncio.sleep(0)
        await writer.wait_closed()
    assert said == []
