"""Proofs by z3 that the kernels' bodies are right for every one of the 2^32 float32 and 2^64 float64 inputs.

===========  ===============================================================================================
`terms`      the vocabulary of the bodies on z3's bit-vectors: the code under proof is the code that runs
`grid`       rounding, from z3's own IEEE 754 conversions
`spec`       a whole cast: rounding, then integer rules for the ends of a format, signs and codes
`cases`      what the library does, followed on terms: plans, rows and bodies; and what is claimed of it
`solve`      claims, and the solver's answers to them
===========  ===============================================================================================

What is proved is all that lies between a source's bits and a result's: the choice of bodies by `plan`, the rows by
`compile_row`, the bodies, and the steps between them. `test_not_vacuous` shows that a wrong constant or a wrong
operator yields a counterexample. The specification takes nothing from there, only facts of a `Format` (emin,
mantissa_bits, max_line, the codes of infinity and NaN).
"""

import pytest

pytest.importorskip("z3", reason="z3-solver is not installed, so nothing is proved: pip install '.[proof]' brings it")
