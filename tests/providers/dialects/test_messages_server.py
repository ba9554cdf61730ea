import asyncio
import json
import sys
from pathlib import Path

from bridle.providers.connect import home_provider
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest

ROOT = Path(__file__).parents[3]


def request(words: str) -> ModelRequest:
    history = History.of({"role": "user", "content": words})
    return ModelRequest(model="claude-sonnet-4-5", history=history, max_tokens=9)


async def test_the_fake_service_runs_on_its_own_and_records_what_it_is_asked(tmp_path: Path):
    script, record = tmp_path / "script.json", tmp_path / "record.jsonl"
    script.write_text(
        json.dumps([{"content": ["Later"], "when": "blue"}, {"content": ["Hi"]}]), encoding="utf-8"
    )
    command = ("-m", "tests.fakes.messages_server", "--script", str(script), "--record", str(record))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(50):
            port = int(await process.stdout.readline())
            env = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "key"}
            provider = home_provider(env)
            said = [
                event.message["content"]
                for words in ("red", "blue")
                async for event in provider.stream(request(words))
                if isinstance(event, Completed)
            ]
            await provider.close()
    finally:
        process.kill()
        await process.wait()
    assert said == [[{"type": "text", "text": "Hi"}], [{"type": "text", "text": "Later"}]]
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert [line["body"]["messages"][0]["content"][0]["text"] for line in lines] == ["red", "blue"]
