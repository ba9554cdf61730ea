"""Asks one question through an Agent SDK for Python, with the program under test as its command line."""

import asyncio
import importlib
import os
import sys


async def main(package: str, options_name: str) -> None:
    sdk = importlib.import_module(package)
    options = getattr(sdk, options_name)(allowed_tools=["Bash"], cwd=os.getcwd())
    async for message in sdk.query(prompt="hi #bash", options=options):
        if (result := getattr(message, "result", None)) is not None:
            print(f"result: {result}")


asyncio.run(main(*sys.argv[1:]))
