"""Each algorithm of which a paper or code is judged, stated once: a round as a pure function, in the kernel's language.

A model is a number, an array, or a point of a function of a class, and a gradient is a function that is called at a
model: the same definition runs on fractions, symbols, traced functions and arrays of floats. Sequences have an entry
for each participant of the round, in the same order; nothing is changed in place.
"""
