"""Write the kernel's decisions for readers who do not trust it: source, evidence, a LaTeX page, a Rocq proof."""
