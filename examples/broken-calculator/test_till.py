import unittest

from till import change, discount, subtotal, total


class SubtotalTest(unittest.TestCase):
    def test_counts_every_item(self):
        self.assertEqual(subtotal([(250, 2), (199, 1)]), 699)

    def test_is_nothing_for_an_empty_basket(self):
        self.assertEqual(subtotal([]), 0)


class DiscountTest(unittest.TestCase):
    def test_small_orders_get_none(self):
        self.assertEqual(discount(9_999), 0)

    def test_large_orders_get_ten_percent(self):
        self.assertEqual(discount(20_000), 2_000)

    def test_begins_exactly_at_the_limit(self):
        self.assertEqual(discount(10_000), 1_000)


class TotalTest(unittest.TestCase):
    def test_adds_tax(self):
        self.assertEqual(total([(1_000, 1)]), 1_080)

    def test_takes_tax_on_the_reduced_price(self):
        self.assertEqual(total([(10_000, 2)]), 19_440)


class ChangeTest(unittest.TestCase):
    def test_is_what_was_paid_too_much(self):
        self.assertEqual(change(2_000, 1_080), 920)

    def test_too_little_money_is_refused(self):
        with self.assertRaises(ValueError):
            change(1_000, 1_080)


if __name__ == "__main__":
    unittest.main()
