"""Coupled tensor trains on Flower."""
