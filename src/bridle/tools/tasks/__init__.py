"""Task lists and background tasks."""
