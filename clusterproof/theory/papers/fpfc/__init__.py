"""Claims of Yu, Liu, Sun and Wang (2023), an AAAI student abstract, and repaired versions of these claims."""
