"""Running a service: the HTTP server, and the supervisor of several worker processes."""
