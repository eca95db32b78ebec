"""What a job is, as values: what was asked for, what happened, what is recorded. Nothing here acts."""
