"""Limits on what model calls may use, and to whom a call is charged."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Scope = Literal["run", "agent", "project", "day"]
SCOPES: tuple[Scope, ...] = ("run", "agent", "project", "day")


class Limit(Struct, frozen=True, kw_only=True):
    """What may be used in one scope; None for no limit."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None


class Charge(Struct, frozen=True, kw_only=True):
    """What a call uses, or is expected to use at most."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 1
    seconds: float = 0.0


class Payer(Struct, frozen=True, kw_only=True):
    """Who a call is for."""

    run: str
    project: str
    agent: str = "main"


Budgets = Mapping[Scope, Limit]
