"""Parts of an HTTP server: bounds, problems, tokens, ranges, OpenAPI."""
