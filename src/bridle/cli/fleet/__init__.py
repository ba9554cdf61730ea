"""`bridle fleet`: runs of many tasks."""
