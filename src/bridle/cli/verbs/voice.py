"""The processes of dictation: one records, one turns sound into text."""

from collections.abc import Mapping

from bridle.cli.subcommands.parser import ParsedArguments
from bridle.features.voice import worker


def run_transcribe(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Turn the sound on standard input into text.

    Raises:
        UsageError: the engine cannot.
    """
    del env
    return worker.run_engine(given.one("engine"), given.text("model") or "", given.text("language") or "")


def run_record_sound(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Write what the microphone gives to standard output.

    Raises:
        UsageError: there is no microphone.
    """
    del given, env
    return worker.record_sound()
