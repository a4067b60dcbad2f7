"""The teaching notes: pages beside this file, one finding a page."""
