"""Claims of Zhang and Qiao (2024), Electronics 13, 3682 (SoFL), and repaired versions of these claims."""
