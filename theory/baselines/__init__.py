"""Where the baselines rest on quadratics, and statements about CFL (Sattler et al., 2020)."""
