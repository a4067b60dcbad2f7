"""Tables of papers, sweeps, and training over several seeds: units that one runner computes and stores."""
