"""What may be meant by what is being typed."""
