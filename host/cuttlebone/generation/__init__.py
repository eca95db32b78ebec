"""What a job asks a model for, and the ticket through which the answer comes back."""
