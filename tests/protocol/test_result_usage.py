"""What results say of the models: all so far, and what was added since the result before."""

from pathlib import Path

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program, lines, user

_TALK = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")


async def test_each_result_tells_what_was_used_since_the_one_before_also_after_a_resume(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as server:
        program = Program(tmp_path, server.url, ANTHROPIC_MODEL="claude-sonnet-4-5-20250929")
        done = await program.run(*_TALK, stdin=lines(user("one"), user("/clear"), user("two"), user("three")))
        again = await program.run(*_TALK, "--continue", stdin=lines(user("four")))
    results = [each for each in done.frames if each["type"] == "result"] + [again.result]
    name = "claude-sonnet-4-5-20250929"
    all_so_far = [each["modelUsage"].get(name, {}).get("outputTokens") for each in results]
    since = [each["model_usage_since_last_result"].get(name, {}).get("outputTokens") for each in results]
    assert all_so_far == [7, None, 7, 14, 21]
    assert since == [7, None, 7, 7, 7]
    facts = results[0]["modelUsage"][name]
    assert (facts["canonicalModel"], facts["provider"], facts["costBasis"]) == (
        "claude-sonnet-4-5",
        "firstParty",
        "list",
    )
