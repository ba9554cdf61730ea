"""The Agent Client Protocol: editors run bridle as their agent."""
