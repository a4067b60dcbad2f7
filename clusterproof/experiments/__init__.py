"""Tables of papers, sweeps and training over several seeds: lists of units that one runner computes and stores."""
