"""`bridle policy` over recorded calls: replay, learn, compare, test."""
