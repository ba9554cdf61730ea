"""One prompt, or one report, with a library for Python; the first argument says which."""

import asyncio
import importlib
import json
import os
import sys
from typing import Any


async def langchain() -> str:
    model = importlib.import_module("langchain_claude_code").ChatClaudeCode(
        model="sonnet", allowed_tools=["Bash"], cwd=os.getcwd(), cli_path=os.environ["COMPAT_CLAUDE"]
    )
    return (await model.ainvoke("hi #bash")).content


async def claude_cli_sdk() -> str:
    library: Any = importlib.import_module("claude_cli_sdk")
    async with library.Claude() as claude:
        return (await claude.run("hello")).text


async def sniffly() -> str:
    folder = os.path.dirname(sys.argv[2])
    processor = importlib.import_module("sniffly.core.processor").ClaudeLogProcessor(folder)
    _, statistics = processor.process_logs()
    return json.dumps(statistics["overview"])


print(f"said: {asyncio.run(globals()[sys.argv[1]]())}")
