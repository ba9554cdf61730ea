"""Plugins and marketplaces: folders that contribute components, and lists of where to get them."""
