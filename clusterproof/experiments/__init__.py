"""Experiments: tables of papers, sweeps, and training with several seeds.

Each experiment is divided into units, which ``units`` computes and stores.
"""
