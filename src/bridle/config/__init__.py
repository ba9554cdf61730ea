"""Settings: where they live, how they merge, what they mean."""
