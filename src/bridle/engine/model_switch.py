"""Switches to another model, unless hooks refuse."""

from collections.abc import Callable
from typing import Any

from bridle.engine.compaction.cache_state import CACHE_TTL, cache_state
from bridle.engine.runtime import Runtime
from bridle.transcripts.session import Session
from bridle.types.errors import UsageError
from bridle.types.hooks.environment import PostModelSwitch, PreModelSwitch
from bridle.types.permission import Ask, Deny


async def switch_model(session: Session, runtime: Runtime, model: str) -> None:
    """Let `model` answer from the next request on.

    Raises:
        UsageError: a hook refuses.
    """
    before = session.state.model
    if model == before:
        return
    hooks = runtime.hooks
    if not hooks.listens_to("PreModelSwitch") and not hooks.listens_to("PostModelSwitch"):
        session.swap(model=model)
        return
    refused = await fire_model_switch(
        session, runtime, before, model, switch=lambda: session.swap(model=model)
    )
    if refused is not None:
        raise UsageError(f"A hook blocked the switch from {before} to {model}: {refused}")


async def fire_model_switch(
    session: Session, runtime: Runtime, before: str, after: str, *, switch: Callable[[], None]
) -> str | None:
    """Ask hooks, switch, and tell hooks; why they refuse if they do, and then nothing changes.

    What they have to say to the model comes with the next step. A hook that would have the user asked
    refuses too: the user was asked when they chose the model.
    """
    now = cache_state(session, runtime, after)
    about: dict[str, Any] = {
        "from_model": before,
        "to_model": after,
        "context_tokens": now.context_tokens,
        "prompt_cache_warm": now.cache_warm,
        "cache_ttl": CACHE_TTL if runtime.asking.cache else None,
        "estimated_cache_write_usd": now.cache_write_usd,
    }
    said = await runtime.hooks.fire(PreModelSwitch(**about))
    if isinstance(said.decision, Deny | Ask):
        return said.decision.reason
    switch()
    await runtime.hooks.fire(PostModelSwitch(**about))
    return None
