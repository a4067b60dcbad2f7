"""FedAvg with local steps: the bound by its drift at the optimum."""
