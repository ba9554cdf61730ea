"""What files held at each prompt of a conversation."""
