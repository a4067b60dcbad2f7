"""Which hypotheses of CFL-MGD's analysis hold on a training run."""
