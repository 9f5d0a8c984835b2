"""HTML pages: the template engine, base templates, style sheet, translations, formats, links."""
