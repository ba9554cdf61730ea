"""Works out what a customer pays: items, a discount for large orders, tax, and the change due."""

TAX_PERCENT = 8
DISCOUNT_PERCENT = 10
DISCOUNT_FROM = 10_000


def subtotal(items):
    """The price of all items in cents; an item is (cents, quantity)."""
    return sum(cents * quantity for cents, quantity in items)


def discount(cents):
    """The reduction that orders of at least DISCOUNT_FROM get."""
    if cents > DISCOUNT_FROM:
        return cents * DISCOUNT_PERCENT // 100
    return 0


def tax(cents):
    return cents * TAX_PERCENT // 100


def total(items):
    """What is to be paid, tax included."""
    price = subtotal(items)
    price -= discount(price)
    return price + tax(price)


def change(paid, due):
    """What goes back over the counter."""
    if paid < due:
        raise ValueError("not enough money")
    return paid - due
