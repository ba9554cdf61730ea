"""Fast mode: faster answers of the same model at a higher price, where its service has that."""

from typing import TYPE_CHECKING, Literal, Protocol

from bridle.types.services.service import Service

if TYPE_CHECKING:
    from bridle.types.model import Provider

FastState = Literal["off", "cooldown", "on"]
"""`cooldown`: it is wanted, and the service has refused it for now."""


class FastSwitch(Protocol):
    """Whether requests ask for fast answers."""

    @property
    def state(self) -> FastState: ...

    def objection(self, model: str) -> str | None:
        """Why a model cannot be asked for fast answers; None where it can."""
        ...

    def around(self, provider: "Provider") -> "Provider":
        """The provider with this mode around it, where it is not yet."""
        ...

    def switch(self, *, on: bool) -> None:
        """Turn it on or off from the next request on."""
        ...


FAST_MODE: Service[FastSwitch] = Service("fast mode", missing="Fast mode is turned off.")
