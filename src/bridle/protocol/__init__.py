"""The frames that programs read and write on standard streams."""
