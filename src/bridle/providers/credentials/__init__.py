"""What opens services of models: kept keys, helpers of the user, and the chains of clouds."""
