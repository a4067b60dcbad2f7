"""Teaching notes: lessons that run, the site made of them, and the stored results that the site shows."""
