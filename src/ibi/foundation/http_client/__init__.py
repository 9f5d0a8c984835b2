"""HTTP requests to other services: allowed addresses, time limits, and a JSON client."""
