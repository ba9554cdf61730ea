"""What the model can do: one input, one async function each."""
