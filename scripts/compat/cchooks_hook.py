"""A hook that is written with cchooks and refuses to reset."""

import importlib

context = importlib.import_module("cchooks").create_context()
if "reset" in context.tool_input.get("command", ""):
    context.output.deny(reason="Refused by cchooks", system_message="Refused by cchooks")
else:
    context.output.allow(reason="fine")
