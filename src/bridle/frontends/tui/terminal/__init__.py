"""The terminal device: input, output, capabilities and notifications."""
