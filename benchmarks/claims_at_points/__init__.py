"""What every claim says of fixed instances: numbers, and the hypotheses that refuse their neighbours."""
