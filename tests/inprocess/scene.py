"""A folder, a home and a scripted model for sessions inside the test's own process."""

from collections.abc import AsyncGenerator, AsyncIterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bridle.providers.scripted import ScriptedProvider
from bridle.sdk import Message, Options, query

_Kind = TypeVar("_Kind")


class Scene:
    def __init__(self, tmp_path: Path, *script: Any, project: str = "project") -> None:
        self.project = tmp_path / project
        self.home = tmp_path / "home"
        self.project.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.model = ScriptedProvider(script)
        self.heard: list[str] = []

    def options(self, **options: Any) -> Options:
        env = {
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "ANTHROPIC_API_KEY": "none",
            **options.pop("env", {}),
        }
        usual: dict[str, Any] = {"cwd": self.project, "provider": self.model, "stderr": self.heard.append}
        return Options(**{**usual, **options}, env=env)

    async def ask(
        self, prompt: str | AsyncIterable[Mapping[str, Any]] = "do it", **options: Any
    ) -> list[Message]:
        return [message async for message in query(prompt=prompt, options=self.options(**options))]

    def transcripts(self) -> list[Path]:
        return sorted((self.home / ".claude" / "projects").rglob("*.jsonl"))


def of(messages: Sequence[Message], kind: type[_Kind]) -> list[_Kind]:
    return [message for message in messages if isinstance(message, kind)]


def prompts(*texts: str) -> AsyncIterable[Mapping[str, Any]]:
    async def each() -> AsyncGenerator[Mapping[str, Any], None]:
        for text in texts:
            yield {"type": "user", "message": {"role": "user", "content": text}}

    return each()
