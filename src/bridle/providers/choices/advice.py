"""One line about each model that helps to choose it."""

import re

from bridle.providers.model_listing import ModelListing

_BY_NAME = {
    "default": "the recommended model for the keys you have",
    "sonnet": "everyday coding: fast, and good at most tasks",
    "opus": "hard problems and long tasks",
    "haiku": "small edits and questions: the fastest and cheapest",
    "fable": "the most capable, and the most expensive",
    "best": "the most capable, and the most expensive",
    "opusplan": "opus plans, sonnet does the work",
    "offline": "built-in planner: no key, no network, only simple repairs",
}
_BY_WORD = (
    (r"coder?\b|codex|devstral|code\b", "made for code"),
    (r"nano|lite|luna|\b8b|instant|tiny|smol", "small questions: very fast and very cheap"),
    (r"mini|flash|small|fast|turbo|terra|20b|scout|medium", "quick and cheap, for simple tasks"),
    (r"\bpro\b|large|max|thinking|reasoner|premier|sol\b|opus", "hard problems: slower and dearer"),
    (r"deep-?research", "research over many sources: slow and expensive"),
    (r"sonnet", "everyday coding: fast, and good at most tasks"),
    (r"haiku", "small edits and questions: the fastest and cheapest"),
    (r"fable", "the most capable, and the most expensive"),
)
_LOCAL = ("ollama", "llamacpp", "lmstudio", "vllm", "sglang", "local")


def advice(row: ModelListing) -> str:
    """What a model is good for."""
    if row.label and row.value not in _BY_NAME:
        return row.label
    if (known := _BY_NAME.get(row.value.lower())) is not None:
        return known
    if row.vendor in _LOCAL:
        return "runs on this machine: private and free"
    name = row.model.rpartition("/")[2].lower()
    for pattern, words in _BY_WORD:
        if re.search(pattern, name):
            return words
    return "all tasks, thinks before it answers" if "reasoning" in row.capabilities else "all tasks"
