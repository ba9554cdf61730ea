"""Events that hooks can listen to, and what hooks may answer."""
