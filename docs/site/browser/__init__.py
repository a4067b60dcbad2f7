"""Functions that a page calls in the reader's browser.

They import the kernel and the standard library only, and only the kernel decides verdicts.
"""
