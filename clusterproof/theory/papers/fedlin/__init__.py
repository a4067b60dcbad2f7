"""FedLin: its printed rate, and the sharp one of a round."""
