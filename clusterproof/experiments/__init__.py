"""Experiments: tables of papers, sweeps, and training with several seeds.

Each experiment is divided into units. One runner computes and stores the units of all experiments.
"""
