"""The pages of operators: archives, registrations, conflicts, traffic and history."""
