"""Pages for people: templates, languages, formats, links."""
