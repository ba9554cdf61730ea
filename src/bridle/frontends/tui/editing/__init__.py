"""The prompt editor: text, cursor, vim mode, history and attachments."""
