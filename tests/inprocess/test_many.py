import asyncio
import gc
from pathlib import Path

from bridle.providers.scripted import calls, says
from bridle.sdk import ResultMessage
from tests.inprocess.scene import Scene, of

_SESSIONS = 100


async def test_a_hundred_sessions_run_beside_each_other(tmp_path: Path):
    scenes: list[Scene] = []
    for number in range(_SESSIONS):
        scene = Scene(
            tmp_path,
            says(calls("Read", file_path="a.txt")),
            says(calls("Write", file_path="b.txt", content=f"written by {number}")),
            says(f"done {number}"),
            project=f"project-{number}",
        )
        (scene.project / "a.txt").write_text(f"file of {number}\n")
        scenes.append(scene)

    async with asyncio.timeout(100):
        answers = await asyncio.gather(*(scene.ask(permission_mode="acceptEdits") for scene in scenes))

    results = [of(messages, ResultMessage)[0] for messages in answers]
    assert [result.result for result in results] == [f"done {number}" for number in range(_SESSIONS)]
    assert len({result.session_id for result in results}) == _SESSIONS
    for number, scene in enumerate(scenes):
        assert (scene.project / "b.txt").read_text() == f"written by {number}"
        assert f"file of {number}" in str(scene.model.requests[1].messages)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert len(scenes[0].transcripts()) == _SESSIONS


async def test_a_session_that_is_over_leaves_nothing_in_memory(tmp_path: Path):
    from bridle.engine.server import Server
    from bridle.transcripts.session import Session

    def alive() -> list[Session | Server]:
        return [each for each in gc.get_objects() if isinstance(each, Session | Server)]

    before = alive()  # Of other tests, such as one whose failure is still to be told.
    for _ in range(3):
        await Scene(tmp_path, says("ok")).ask()
    # Since Python 3.12 the event loop holds the last tasks until its next turn.
    await asyncio.sleep(0)
    gc.collect()
    assert not [each for each in alive() if not any(each is other for other in before)]
