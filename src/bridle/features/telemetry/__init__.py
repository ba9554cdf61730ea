"""OpenTelemetry for a session: metrics, logs and traces to the exporters the user names."""
