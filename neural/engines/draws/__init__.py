"""What a round draws: who takes part, batches of samples, and distortions; of one seed or of several side by side."""
