"""The pages on which people deposit: drafts, their files and description, and their review."""
