"""Proofs by z3 that the kernels' bodies are right for every one of the 2^32 float32 and 2^64 float64 inputs.

============  ==============================================================================================
`terms`       the vocabulary of the bodies on z3's bit-vectors: the code under proof is the code that runs
`spec`        what a cast is, from z3's own IEEE 754 conversions, and integer rules for the end of a format
`cases`       which bodies serve which rules, and the rows `compile_row.build_row` gives them
`solve`       claims, and the solver's answers to them
============  ==============================================================================================

What is proved is the pair (body, row): a wrong constant in a row is as fatal as a wrong operator, and
`test_a_wrong_constant_has_a_counterexample` shows it. The specification takes nothing from the kernels
or from `compile_row`, only facts of a `Format` (emin, mantissa_bits, max_line, the codes of infinity and NaN).
"""

import pytest

pytest.importorskip("z3", reason="z3-solver is not installed, so nothing is proved; pip install '.[proof]' brings it")
