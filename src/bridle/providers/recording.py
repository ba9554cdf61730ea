"""Providers that write exchanges with models into a cassette, and answer from one."""

import os
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from bridle.providers import cassette
from bridle.providers.cassette import Answer, Exchange, Header, Placeholders, Rendering, Rule
from bridle.providers.dialects.messages_stream import Decoder, stream_of
from bridle.types.errors import ConfigError, ProviderError, StreamBroken
from bridle.types.model import BlockClosed, Completed, FallbackStarted, ModelEvent, ModelRequest, Provider


class Recording:
    """Passes everything on, and writes each exchange down when it is over."""

    def __init__(
        self,
        provider: Provider,
        path: str,
        *,
        env: Mapping[str, str],
        cwd: str,
        rules: tuple[Rule, ...] = (),
    ) -> None:
        self.provider = provider
        self.path = path
        header = Header(rules=(*rules, *cassette.RULES))
        self._places = Placeholders(env, cwd)
        self._rendering = Rendering(self._places, header.rules)
        self._known: set[str] = set()
        try:
            # For its owner alone: a conversation may hold secrets that no rule knows.
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"Could not write {path}: {error.strerror}.") from error
        self._file = os.fdopen(number, "wb")
        self._write(header)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        # Rendered before the answer comes: the history may have grown by then.
        asked, parts = self._rendering.render(request)
        flaws: dict[str, str] = {}
        fell_back: dict[str, str] | None = None
        try:
            async for event in self.provider.stream(request):
                match event:
                    case BlockClosed(flaw=str() as flaw):
                        flaws[str(event.index)] = flaw
                    case FallbackStarted():
                        fell_back = msgspec.to_builtins(event)
                        flaws = {}
                    case Completed():
                        message = cassette.named(msgspec.to_builtins(event.message), self._places)
                        answer = Answer(
                            message=message,
                            request_id=event.request_id,
                            flaws=flaws,
                            fell_back=fell_back,
                        )
                        self._keep(Exchange(asked, answer), parts)
                    case _:
                        pass
                yield event
        except ProviderError as error:
            self._keep(Exchange(asked, Answer(fault=self._fault(error), fell_back=fell_back)), parts)
            raise

    async def close(self) -> None:
        await self.provider.close()
        self._file.close()

    def _fault(self, error: ProviderError) -> dict[str, Any]:
        return {
            "message": self._places.named(str(error)),
            "kind": error.kind,
            "status": error.status,
            "error_type": error.error_type,
            "broken": isinstance(error, StreamBroken),
        }

    def _keep(self, exchange: Exchange, parts: Mapping[str, Any]) -> None:
        for digest, value in parts.items():
            if digest not in self._known:
                self._known.add(digest)
                self._write({"part": digest, "value": value})
        self._write(exchange)

    def _write(self, value: Any) -> None:
        self._file.write(cassette.written(value))
        # A run that is killed leaves what it had.
        self._file.flush()


class Replaying:
    """Answers from a cassette, each exchange once, and refuses what was not recorded.

    Requests may come in another order than they were recorded, as side questions and agents do.
    """

    def __init__(self, path: str, *, env: Mapping[str, str], cwd: str) -> None:
        self.path = path
        header, exchanges, self._parts = cassette.read(path)
        self._places = Placeholders(env, cwd)
        self._rendering = Rendering(self._places, header.rules)
        self._left = exchanges
        self.difference: str | None = None
        """The first thing that was not as recorded."""

    @property
    def left(self) -> int:
        """How many recorded requests have not been made."""
        return len(self._left)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        answer = self._take(request)
        if answer.fell_back is not None:
            yield msgspec.convert(answer.fell_back, FallbackStarted)
        if (fault := answer.fault) is not None:
            form = StreamBroken if fault.get("broken") else ProviderError
            raise form(
                fault["message"],
                kind=fault.get("kind") or "unknown",
                status=fault.get("status"),
                error_type=fault.get("error_type"),
            )
        message = cassette.here(answer.message or {}, self._places)
        decoder = Decoder(answer.request_id)
        for data in stream_of(message):
            match decoder.feed(data):
                case BlockClosed() as closed if (flaw := answer.flaws.get(str(closed.index))) is not None:
                    yield replace(closed, flaw=flaw)
                case None:
                    pass
                case event:
                    yield event

    async def close(self) -> None:
        """Nothing to close."""

    def _take(self, request: ModelRequest) -> Answer:
        asked, parts = self._rendering.render(request)
        for place, exchange in enumerate(self._left):
            if exchange.asked.key == asked.key:
                del self._left[place]
                return exchange.answer
        difference = self._explain(cassette.assembled(asked, parts), request.model)
        self.difference = self.difference or difference
        raise ProviderError(f"This request was not recorded: {difference}", kind="invalid_request")

    def _explain(self, got: dict[str, Any], model: str) -> str:
        """The way in which a request differs from the one that was expected next."""
        same = [each for each in self._left if each.asked.plain.get("model") == model]
        expected = next(iter(same or self._left), None)
        if expected is None:
            return f"{self.path} has no more requests, but {model} got another one"
        wanted = cassette.assembled(expected.asked, self._parts)
        return cassette.first_difference(wanted, got) or "it was sent twice"
