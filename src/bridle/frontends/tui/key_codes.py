"""Which numbers and letters terminals send for which keys."""

CSI_LETTERS = {
    "A": "up", "B": "down", "C": "right", "D": "left", "E": "begin", "F": "end", "H": "home",
    "P": "f1", "Q": "f2", "R": "f3", "S": "f4",
}  # fmt: skip

CSI_NUMBERS = {
    1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end",
    11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10",
    23: "f11", 24: "f12",
}  # fmt: skip

SS3_NAMES = {**CSI_LETTERS, "M": "enter"}

FUNCTIONAL = {
    **{57399 + digit: str(digit) for digit in range(10)},
    57409: ".", 57410: "/", 57411: "*", 57412: "-", 57413: "+", 57414: "enter", 57415: "=", 57416: ",",
    57417: "left", 57418: "right", 57419: "up", 57420: "down", 57421: "pageup", 57422: "pagedown",
    57423: "home", 57424: "end", 57425: "insert", 57426: "delete", 57427: "begin",
    **{57376 + number: f"f{13 + number}" for number in range(23)},
}  # fmt: skip
"""Keys of the kitty protocol that have no character of their own."""
