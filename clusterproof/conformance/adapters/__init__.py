"""Ready adapters, each of which imports its library only if it is used."""
