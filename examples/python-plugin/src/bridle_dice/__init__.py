"""Dice for bridle."""
