"""Faster answers at a higher price, for models whose service has them."""
