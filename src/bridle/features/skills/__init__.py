"""Skills: texts that the model or the user calls by name."""
