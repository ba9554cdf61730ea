"""A model and policy gateway for a team: keys in one place, budgets and rules per user, no content kept."""
