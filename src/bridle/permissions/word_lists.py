"""Lists of words that read better without quotation marks."""


def listed(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
