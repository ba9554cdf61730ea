"""The hub: one server for the sessions of many machines."""
