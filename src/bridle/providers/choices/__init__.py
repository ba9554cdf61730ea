"""Which models a user can choose from, and what helps to choose."""
