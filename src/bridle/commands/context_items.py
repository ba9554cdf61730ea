"""The command that shows what single things in the conversation cost, and takes them out or holds them."""

from bridle.commands.context import CommandContext
from bridle.context.items import Item
from bridle.engine.items import drop_item, hold_item, list_items, release_item, stub_item
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError

_MOST_LISTED = 30
_USAGE = "Use /items [all], or /items stub|drop|hold|release <id>; /items lists the ids."


async def items(arguments: str, context: CommandContext) -> CommandResult:
    """List the costliest things in the conversation, or change what happens to one of them.

    Raises:
        UsageError: there is no such thing, or it cannot be changed like that.
    """
    if arguments in ("", "all"):
        text = items_text(list_items(context.session), everything=arguments == "all")
        return Shows(view="items", arguments=arguments, text=text)
    deed, _, wanted = arguments.partition(" ")
    item_id = wanted.strip()
    if not item_id:
        raise UsageError(_USAGE)
    session, runtime = context.session, context.runtime
    match deed:
        case "stub":
            return Says(f"Only a note of it is left: {stub_item(session, runtime, item_id):,} tokens saved.")
        case "drop":
            return Says(f"It is no longer sent: {drop_item(session, runtime, item_id):,} tokens saved.")
        case "hold":
            hold_item(session, item_id)
            return Says("It is never cleared now.")
        case "release":
            release_item(session, item_id)
            return Says("It may be cleared again.")
        case _:
            raise UsageError(_USAGE)


def items_text(found: tuple[Item, ...], *, everything: bool) -> str:
    """The costliest first, each with the id by which it is named."""
    ordered = sorted(found, key=lambda item: -item.tokens)
    shown = ordered if everything else ordered[:_MOST_LISTED]
    rows = [
        f"{item.tokens:>8,}  {item.kind:<8}  {item.id}  {item.title}{'  (held)' if item.pinned else ''}"
        for item in shown
    ]
    if (rest := len(ordered) - len(shown)) > 0:
        rows.append(f"… and {rest:,} more: /items all")
    return "\n".join(rows) or "The conversation is empty."
