"""What transcripts say of the use of models."""
