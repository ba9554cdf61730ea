"""Models of other vendors than Anthropic, from a file that is read when one of them is named."""

import os.path
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from bridle.providers import vendors
from bridle.providers.facts import ALL_EFFORTS, LongPrompts, Model

_PATH = os.path.join(os.path.dirname(__file__), "models.json")


def with_vendor(name: str) -> str:
    """A bare name as `vendor/name`, if one vendor alone has a model of that name."""
    owners = [vendor for vendor, known in rows().items() if name in known or _variant_free(name) in known]
    return f"{owners[0]}/{name}" if len(owners) == 1 else name


def served(name: str, claude: Callable[[str], Model | None]) -> Model | None:
    """A model that is named with its vendor, None when no vendor is called so.

    `claude` knows the models of Anthropic, which others serve too.
    """
    prefix, _, rest = name.partition("/")
    vendor = vendors.find(prefix.lower())
    if vendor is None or not rest:
        return None
    fixed: dict[str, Any] = {"id": name, "vendor": vendor.name, "dialect": vendor.dialect, "name": rest}
    # OpenRouter, clouds and Azure serve the models of others under their names.
    known = _row(vendor.name, rest) or claude(rest) or _of_another(rest)
    if known is not None:
        free = {"input_price": 0.0, "output_price": 0.0} if rest.endswith(":free") else {}
        return msgspec.structs.replace(known, **fixed, **free)
    sizes: dict[str, Any] = {
        "context_window": vendor.window,
        "window_known": False,
        "max_output": vendor.output,
        "max_tokens": vendor.output,
    }
    at_home = not vendor.key_needed
    sees: dict[str, Any] = {"images": vendor.quirks.images and not at_home, "documents": False}
    return Model(**fixed, **sizes, **sees, priced=at_home)


def _of_another(name: str) -> Model | None:
    base = name.removesuffix(":free")
    bare = base.rpartition("/")[2]
    return next((row for vendor in _OWNERS if (row := _row(vendor, bare)) is not None), None)


_OWNERS = ("openai", "gemini", "xai", "mistral", "deepseek", "moonshot", "zai")
"""Vendors that serve models of their own making."""


def _row(vendor: str, name: str) -> Model | None:
    known = rows().get(vendor, {})
    row = known.get(name) or known.get(_variant_free(name)) or known.get(_REGION.sub("", name))
    return None if row is None else _from_row(name, row)


def _variant_free(name: str) -> str:
    return _DATED.sub("", name, count=1)


_REGION = re.compile(r"^(?:us|eu|apac|global)\.")
"""Stands before the name of a model on Bedrock that is served from several regions."""
_DATED = re.compile(r"(?:-\d{4}-\d\d-\d\d|-latest|-preview-\d\d-\d{2,4})$")


def _from_row(name: str, row: "Row") -> Model:
    caps = row.capabilities
    reasons = "reasoning" in caps
    read = row.input_price if row.cache_read_price is None else row.cache_read_price
    written = row.input_price if row.cache_write_price is None else row.cache_write_price
    return Model(
        id=name,
        context_window=row.context_window,
        max_output=row.max_output,
        max_tokens=min(row.max_output, 32_000),
        input_price=row.input_price or 0.0,
        output_price=row.output_price or 0.0,
        cache_read_price=read or 0.0,
        cache_write_price=written or 0.0,
        cache_write_1h_price=written or 0.0,
        long_prompts=LongPrompts(*row.long_prompts) if row.long_prompts else None,
        priced=row.input_price is not None,
        thinking="adaptive" if reasons else "none",
        efforts=ALL_EFFORTS if reasons else (),
        top_effort=row.top_effort,
        tools="tools" in caps,
        images="images" in caps,
        documents="pdf" in caps,
        label=row.label,
    )


class Row(Struct, rename="camel", frozen=True, kw_only=True):
    """A line of the file of other vendors' models."""

    context_window: int
    max_output: int
    input_price: float | None = None
    output_price: float | None = None
    cache_read_price: float | None = None
    cache_write_price: float | None = None
    long_prompts: tuple[int, float, float] | None = None
    top_effort: str = "high"
    capabilities: tuple[str, ...] = ()
    label: str = ""


@cache
def rows() -> dict[str, dict[str, Row]]:
    """Every line, by vendor and name."""
    with open(_PATH, "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, dict[str, Row]])
