"""Texts in the language of a reader: message catalogues, and the choice among them."""
