"""Ready adapters; each imports its library only when it is used."""
