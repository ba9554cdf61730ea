"""Managed settings from elsewhere than files: device management and an address."""
