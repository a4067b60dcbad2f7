"""Claims about FedAvg with local steps: a bound with the drift at the optimum, and theorems of Li et al. (2020)."""
