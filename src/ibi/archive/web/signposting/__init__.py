"""FAIR Signposting: links by which programs find what belongs to an item, without reading pages."""
