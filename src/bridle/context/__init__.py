"""The text before the conversation: system prompt, environment, instructions."""
