"""Claims about Yu, Liu, Sun and Wang (2023), AAAI student abstract, and repaired claims."""
