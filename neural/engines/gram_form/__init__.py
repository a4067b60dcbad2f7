"""Local training of perceptrons in the span of their clients' samples, exactly."""
