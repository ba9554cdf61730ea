"""The sandbox in settings: schema, credentials, masking, and the policy that results."""
