"""The rules of the search: which terms texts have, what a reader asks for, what is shown."""
