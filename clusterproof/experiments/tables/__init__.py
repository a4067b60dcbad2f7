"""The papers' tables that need networks and image data, one paper's table per file."""
