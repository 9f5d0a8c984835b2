"""Crosswalks: one module for each format in which the metadata of an item are written."""
