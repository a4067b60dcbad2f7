"""Claims about papers, and the subject of each paper, indexed by the name that begins the ids of its claims."""

PAPERS = {
    "cfl-mgd": "CFL-MGD: Zhao et al. 2023, Electronics 12, 1972",
    "fpfc": "FPFC: Yu et al. 2023, AAAI student abstract",
    "gradient-loss": "GL-CFL: Lin et al. 2023, arXiv:2311.13665",
    "sofl": "SoFL: Zhang and Qiao 2024, Electronics 13, 3682",
    "ifca": "IFCA: Ghosh et al. 2020",
    "baselines": "fixed points of FedAvg, Per-FedAvg and relatives",
    "cfl": "CFL: Sattler et al. 2020",
    "fedavg": "FedAvg: Li et al., arXiv:1907.02189",
    "fedlin": "FedLin: Mitra et al. 2021",
    "fedprox": "FedProx: Li et al., arXiv:1812.06127",
    "local-gd": "Local GD: Khaled et al., arXiv:1909.04715",
    "proxskip": "ProxSkip: Mishchenko et al. 2022",
    "scaffold": "SCAFFOLD: Karimireddy et al. 2020",
    "sproxskip": "ProxSkip with stochastic gradients",
}
"""The subject of each paper's claims. Papers about clusters come first."""
