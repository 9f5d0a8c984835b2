"""The pages of administrators: health, tasks, files, resolvers, minting, settings and history."""
