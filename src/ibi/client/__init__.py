"""Running archives and resolvers, for programs in Python and for the command line."""
