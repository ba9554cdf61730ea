"""What a tool may use beyond files and commands: a feature of the session offers it under a key."""

from typing import Generic, TypeVar

Offered = TypeVar("Offered")


class Service(Generic[Offered]):
    """The key of something that one feature offers and tools ask for."""

    __slots__ = ("missing", "name")

    def __init__(self, name: str, *, missing: str) -> None:
        self.name = name
        self.missing = missing
        """What the model reads where no feature offers it."""

    def __repr__(self) -> str:
        return f"Service({self.name!r})"
