"""HTML pages: the template engine, base templates, style sheet, formats, links."""
