"""A second model that advises the main one."""
