"""Training runs: configuration, training, measurement and report."""
