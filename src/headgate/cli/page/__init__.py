"""Inspections as one HTML page that needs nothing but a browser: sentences, the graph of operators, plots."""
