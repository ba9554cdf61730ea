from pathlib import Path

from tests.fakes.otlp import collector
from tests.frontends.fleet.tasks import say, task, tasks_file
from tests.frontends.fleet.test_local_runs import fleet


async def test_spans_of_each_task_name_the_run_and_the_task(tmp_path: Path):
    with collector() as place:
        program = fleet(
            tmp_path,
            CLAUDE_CODE_ENABLE_TELEMETRY="1",
            OTEL_TRACES_EXPORTER="otlp",
            OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
            OTEL_EXPORTER_OTLP_ENDPOINT=place.http,
        )
        tasks = tasks_file(tmp_path, task("first", say()), task("second", say()))
        done = await program.run("fleet", "run", tasks, "--workers", "1", "--no-sandbox")

    assert done.code == 0, done.err
    assert place.spans()
    for name in ("first", "second"):
        assert f"{{'key': 'bridle.fleet.task', 'value': {{'stringValue': '{name}'}}}}" in place.text
