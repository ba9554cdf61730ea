"""Host programs on the standard streams, such as the Agent SDKs."""
