"""Data and protocols that every layer shares; nothing here does I/O."""
