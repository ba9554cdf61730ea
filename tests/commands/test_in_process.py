import asyncio
from pathlib import Path
from typing import Any

from bridle.providers.scripted import says
from bridle.sdk import Client
from tests.inprocess.scene import Scene


async def _heard(client: Client, prompt: str) -> Any:
    await client.query(prompt)
    async with asyncio.timeout(50):
        return [message async for message in client.receive_response()][-1]


async def test_commands_work_inside_a_program(tmp_path: Path):
    scene = Scene(tmp_path, says("one"), says("<summary>Fruit.</summary>"), says("two"))
    async with Client(scene.options()) as client:
        first = await _heard(client, "apples")
        status = await _heard(client, "/status")
        compacted = await _heard(client, "/compact")
        cleared = await _heard(client, "/clear")
        last = await _heard(client, "pears")
    assert "Model:" in status.result and status.num_turns == 0
    assert (compacted.result, compacted.num_turns, compacted.is_error) == ("", 0, False)
    assert cleared.session_id == last.session_id != first.session_id
    assert "Fruit." not in str(scene.model.requests[-1].messages)
