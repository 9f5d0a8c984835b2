"""Rules of harvesting: requests, resumption tokens and answers of OAI-PMH."""
