"""Option II, model averaging: equations (12) to (20), and its exact recursion."""
