"""What leaves this machine, and what is kept on it."""

from collections.abc import Iterator, Mapping

from bridle.config.load import Config
from bridle.host.paths import config_home
from bridle.types.variables import is_off, is_on

_DAYS = 30


def privacy_lines(config: Config, env: Mapping[str, str], model: str) -> Iterator[str]:
    """One line for each thing that is sent or kept, with what changes it."""
    settings, home = config.settings, config_home(env)
    days = settings.cleanup_period_days or _DAYS
    telemetry = is_on(env, "CLAUDE_CODE_ENABLE_TELEMETRY")
    signals = settings.bridle_quality_signals is not False and not is_off(env, "BRIDLE_QUALITY_SIGNALS")
    side_work = settings.bridle_background_work is not False and not is_off(env, "BRIDLE_BACKGROUND_WORK")
    yield "Sent:"
    yield f"  prompts, and what tools read: to the service of {model} (/status shows its address)"
    yield f"  requests between turns (titles, suggestions, memories): {_is(side_work)} (bridleBackgroundWork)"
    yield f"  telemetry: {_is(telemetry)} (CLAUDE_CODE_ENABLE_TELEMETRY; only to your own collector)"
    yield "  web pages, MCP servers, plugins, commands: only what you configure or approve"
    yield "  to the makers of bridle: nothing; it has no account and no error reports"
    yield "Kept on this machine:"
    yield f"  conversations: {home}/projects, for {days} days (cleanupPeriodDays; bridle project purge)"
    yield f"  prompts for the history: {home}/history.jsonl (CLAUDE_CODE_SKIP_PROMPT_HISTORY)"
    yield f"  memories: {_is(settings.auto_memory_enabled is not False)} (autoMemoryEnabled)"
    yield f"  signs of trouble: {_is(signals)}, never sent (bridleQualitySignals)"


def _is(on: bool) -> str:
    return "on" if on else "off"
