"""How a table is computed: its units, their store and workers, choices, comparison and report."""
