"""Tools that fetch and search the web."""
