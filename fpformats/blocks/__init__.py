"""Block scaling: recipes run over arrays."""
