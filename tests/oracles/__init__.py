"""Independent implementations that the tests hold fpformats against. Nothing here imports fpformats.

========================  =====================================================================================
`exact`                   every value of a format as a Fraction, neighbours by bisection, distances compared
`cuda_host`               NVIDIA's CUDA headers compiled for the host when the tests run
`torch_cast`              torch, on the CPU or on a CUDA device
`ml_dtypes_cast`          ml_dtypes, and NumPy for float16
`gfloat_p3109`            gfloat's IEEE P3109 formats
`live`                    the peers of the table of differences, jax, gfloat and ONNX's evaluator among them
`recorded`                what the first four peers answered on boundary inputs, kept in files
========================  =====================================================================================

Each says where it must not be trusted. All but `exact` and `recorded` need a package or a
compiler; their ``available()`` returns None, or the reason why they cannot be used.
"""
