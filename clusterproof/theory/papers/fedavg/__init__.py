"""Claims about FedAvg with local steps: a bound by the drift at the optimum, and the theorems of Li et al. (2020)."""
