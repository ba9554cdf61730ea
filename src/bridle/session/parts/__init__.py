"""The parts of a session: one module for each thing that is chosen and opened."""
