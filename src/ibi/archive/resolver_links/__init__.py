"""Links to resolvers: announcements, and the log that digests are read from."""
