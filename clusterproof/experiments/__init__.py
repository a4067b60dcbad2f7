"""Experiments: tables of papers, sweeps, and training with several seeds.

One runner computes and stores their parts.
"""
