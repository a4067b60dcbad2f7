"""What a page asks in the reader's browser.

It imports the kernel and the standard library only, and no verdict is its own.
"""
