"""Services that features offer to tools, and the data that they exchange."""
