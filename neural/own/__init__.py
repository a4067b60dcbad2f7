"""What users bring along: data, networks and algorithms of their own, by name."""
