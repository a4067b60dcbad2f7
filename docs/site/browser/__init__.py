"""Functions that a page calls in the reader's browser.

They import only the kernel and the standard library, and only the kernel decides verdicts.
"""
