"""The user's own code at fixed moments of a session: who listens, how it is run, what its words come to."""
