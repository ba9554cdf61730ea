"""Work between turns: suggestions of prompts, summaries for a user who returns, compaction while idle."""
