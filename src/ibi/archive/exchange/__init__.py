"""Import of bags, and the handover of items by export."""
