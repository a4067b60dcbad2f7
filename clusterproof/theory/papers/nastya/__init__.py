"""NASTYA without compression: local passes over the samples in random order, and a server step."""
