"""Q-RR without compression: its theorem, and the shuffling lemma in both of its readings."""
