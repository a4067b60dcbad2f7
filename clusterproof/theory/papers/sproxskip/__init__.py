"""SProxSkip, ProxSkip with stochastic gradients: its floor as printed, repaired, and for additive noise."""
