"""What the kernel decides, for somebody who does not trust it: source, evidence, a page in LaTeX, a proof for Rocq."""
