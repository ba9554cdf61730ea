"""Numbers in sentences."""


def counted(number: int, thing: str) -> str:
    """1 day, 2 days, 1,000 days."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
