"""An endpoint with the transcription API of OpenAI, which many servers on one's own machine have, too."""

import secrets
import struct
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from bridle.features.voice.microphone import RATE
from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.types.errors import ConfigError, UsageError

KEY = "BRIDLE_VOICE_API_KEY"
_PATH = "/audio/transcriptions"
_LIMITS = Limits(idle=120.0, total=150.0, body=1024 * 1024)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class _Answer(msgspec.Struct):
    text: str


async def transcribe_at(
    endpoint: str, sound: bytes, *, model: str, language: str, env: Mapping[str, str]
) -> str:
    """What is said in some sound.

    Raises:
        UsageError: the address is wrong, or the endpoint does not answer with text.
    """
    url = _address(endpoint)
    fields = {"model": model or "whisper-1", "response_format": "json", "language": language}
    boundary = f"bridle-{secrets.token_hex(16)}"
    headers = [("content-type", f"multipart/form-data; boundary={boundary}")]
    if key := env.get(KEY):
        headers.append(("authorization", f"Bearer {key}"))
    request = Request("POST", url, tuple(headers), _body(fields, wave(sound), boundary))
    client = HttpClient(env)
    try:
        async with client.send(request, _LIMITS) as response:
            status, body = response.status, await response.read()
    except (HttpFault, ConfigError) as error:
        raise UsageError(f"Can't reach the speech endpoint: {error}") from error
    finally:
        await client.close()
    if status != 200:
        raise UsageError(
            f"The speech endpoint returned status {status}. Check bridleVoice.endpoint and {KEY}."
        )
    try:
        return msgspec.json.decode(body, type=_Answer).text
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("The speech endpoint returned no text.") from error


def wave(sound: bytes) -> bytes:
    """The sound as a WAV file."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, RATE * 2, 2, 16)
    data = struct.pack("<4sI", b"data", len(sound)) + sound
    return struct.pack("<4sI4s", b"RIFF", 4 + len(form) + len(data), b"WAVE") + form + data


def _address(endpoint: str) -> str:
    base = endpoint.rstrip("/")
    try:
        parts = urlsplit(base)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    except ValueError:
        is_safe = False
    if not is_safe:
        raise UsageError("bridleVoice.endpoint must be an https address, or http on this machine.")
    if base.endswith(_PATH):
        return base
    return f"{base}{_PATH}" if base.endswith("/v1") else f"{base}/v1{_PATH}"


def _body(fields: Mapping[str, str], file: bytes, boundary: str) -> bytes:
    parts = [
        f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
        if value
    ]
    head = (
        f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="speech.wav"\r\n'
        "content-type: audio/wav\r\n\r\n"
    )
    return "".join([*parts, head]).encode() + file + f"\r\n--{boundary}--\r\n".encode()
