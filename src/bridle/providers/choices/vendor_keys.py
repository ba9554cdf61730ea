"""Which vendors there is a key for, and the model to start with at each."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from bridle.providers import vendors
from bridle.providers.connect import cloud_of
from bridle.providers.foreign import Row, rows
from bridle.providers.keys import source_of
from bridle.providers.vendor import HOME, Vendor

_FIRST: Mapping[str, str] = {
    "gemini": "gemini-3.1-pro-preview",
    "nvidia": "nvidia/llama-3.3-nemotron-super-49b-v1.5",
    "huggingface": "openai/gpt-oss-120b",
    "deepinfra": "openai/gpt-oss-120b",
    "dashscope": "qwen3-coder-plus",
    "minimax": "MiniMax-M2.1",
}
"""Models to start with that are not the first of their vendor's list."""


_PREFIXES = (
    ("sk-ant-", "anthropic"),
    ("sk-or-", "openrouter"),
    ("sk-proj-", "openai"),
    ("sk-svcacct-", "openai"),
    ("AIza", "gemini"),
    ("gsk_", "groq"),
    ("xai-", "xai"),
    ("fw_", "fireworks"),
    ("csk-", "cerebras"),
    ("nvapi-", "nvidia"),
    ("hf_", "huggingface"),
    ("tgp_", "together"),
    ("sk-", "openai"),
)
"""How the keys of vendors begin, the longest first."""


class VendorKey(Struct, frozen=True):
    """A vendor with a key."""

    vendor: Vendor
    source: str
    """Where the key is: the name of a variable, of the helper, or `login`."""
    model: str
    """The full id of the model to start with; empty where the catalog knows none."""


def vendors_with_key(env: Mapping[str, str], *, helper: str | None = None) -> Iterator[VendorKey]:
    """The vendors with a key in a variable or a login, in the order of the table; clouds are none of them."""
    for row in vendors.VENDORS:
        if takes_key(row) and (row.url or _named(row, env)):
            names = (*row.token_env, *row.key_env)
            if (source := source_of(row.name, names, env, helper=helper)) is not None:
                yield VendorKey(row, source, start_model(row))


def takes_key(row: Vendor) -> bool:
    """Whether a key of its own opens the service; clouds have logins, servers on this machine need none."""
    own = row.is_home or not (row.serves_anthropic or row.name.endswith("-anthropic"))
    return row.key_needed and bool(row.key_env) and own


def start_model(row: Vendor) -> str:
    """The model to start with at a vendor, empty where none is known."""
    if row.is_home:
        return "sonnet"
    known = rows().get(row.name, {})
    first = _FIRST.get(row.name) or next((name for name, each in known.items() if _can_work(each)), row.small)
    return f"{row.name}/{first}" if first else ""


def models_of(row: Vendor) -> list[str]:
    """The models of a vendor that can work with tools, by their full ids; the one to start with is first."""
    listed = [f"{row.name}/{name}" for name, each in rows().get(row.name, {}).items() if _can_work(each)]
    first = start_model(row)
    return [*([first] if first else []), *(name for name in listed if name != first)]


def default_model(env: Mapping[str, str], *, helper: str | None = None) -> str | None:
    """The model to start with where there is a key, but none for Anthropic's service; else None."""
    if is_home_usable(env, helper=helper):
        return None
    return next((each.model for each in vendors_with_key(env) if each.model), None)


def is_home_usable(env: Mapping[str, str], *, helper: str | None = None) -> bool:
    """Whether Anthropic's models can be asked, as far as variables, the helper and logins tell."""
    if any(env.get(name, "").strip() for name in _HOME) or cloud_of(env) is not None:
        return True
    return source_of(HOME.name, HOME.key_env, env, helper=helper) is not None


_HOME = ("ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_MODEL")
"""Variables that say where the default model is, whatever keys there are."""


def vendor_of_key(key: str) -> str | None:
    """The vendor whose keys look like this one."""
    return next((vendor for prefix, vendor in _PREFIXES if key.startswith(prefix)), None)


def _can_work(row: Row) -> bool:
    return "tools" in row.capabilities


def _named(row: Vendor, env: Mapping[str, str]) -> bool:
    return any(env.get(name, "").strip() for name in row.url_env)
