// NVIDIA's own conversion headers, compiled for the host, behind one C function per conversion.
//
// Every function is called FORMAT_SATURATION_ROUNDING_SOURCE, for instance e4m3_sat_rn_f32, and converts a whole array.
// What these headers cannot do has no function, so that the symbol table is the table of what may be asked. Formats
// without a choice of saturation have the one that they act by: "sat" for fp6 and fp4, "nosat" for fp16 and bf16.

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

// Saturation, interpretation and rounding are literals in each body: the compiler specialises NVIDIA's code for them.
#define FUNCTION(NAME, SOURCE, CODE, EXPRESSION)                                \
    extern "C" void NAME(const SOURCE *source, CODE *codes, std::size_t size) { \
        for (std::size_t i = 0; i < size; ++i) {                                \
            const SOURCE x = source[i];                                         \
            codes[i] = static_cast<CODE>(EXPRESSION);                           \
        }                                                                       \
    }

#define FP8(NAME, KIND, SATURATION)                                                           \
    FUNCTION(NAME##_rn_f32, float, std::uint8_t, __nv_cvt_float_to_fp8(x, SATURATION, KIND))  \
    FUNCTION(NAME##_rn_f64, double, std::uint8_t, __nv_cvt_double_to_fp8(x, SATURATION, KIND))

FP8(e4m3_sat, __NV_E4M3, __NV_SATFINITE)
FP8(e4m3_nosat, __NV_E4M3, __NV_NOSAT)
FP8(e5m2_sat, __NV_E5M2, __NV_SATFINITE)
FP8(e5m2_nosat, __NV_E5M2, __NV_NOSAT)

// Scale types: the sign is dropped before rounding.
#define SCALE(NAME, TYPE, SATURATION, ROUNDING)                                                       \
    FUNCTION(NAME##_f32, float, std::uint8_t, __nv_cvt_float_to_##TYPE(x, SATURATION, ROUNDING))      \
    FUNCTION(NAME##_f64, double, std::uint8_t, __nv_cvt_double_to_##TYPE(x, SATURATION, ROUNDING))

SCALE(e8m0_sat_rz, e8m0, __NV_SATFINITE, cudaRoundZero)
SCALE(e8m0_sat_ru, e8m0, __NV_SATFINITE, cudaRoundPosInf)
SCALE(e8m0_nosat_rz, e8m0, __NV_NOSAT, cudaRoundZero)
SCALE(e8m0_nosat_ru, e8m0, __NV_NOSAT, cudaRoundPosInf)

#define NARROW(NAME, BITS, KIND, ROUNDING)                                                             \
    FUNCTION(NAME##_f32, float, std::uint8_t, __nv_cvt_float_to_##BITS(x, KIND, ROUNDING))             \
    FUNCTION(NAME##_f64, double, std::uint8_t, __nv_cvt_double_to_##BITS(x, KIND, ROUNDING))

NARROW(e3m2_sat_rn, fp6, __NV_E3M2, cudaRoundNearest)
NARROW(e3m2_sat_rz, fp6, __NV_E3M2, cudaRoundZero)
NARROW(e2m3_sat_rn, fp6, __NV_E2M3, cudaRoundNearest)
NARROW(e2m3_sat_rz, fp6, __NV_E2M3, cudaRoundZero)
NARROW(e2m1_sat_rn, fp4, __NV_E2M1, cudaRoundNearest)
NARROW(e2m1_sat_rz, fp4, __NV_E2M1, cudaRoundZero)

// Before 13.5 the next ones either do not exist or abort the process.
#if CUDART_VERSION >= 13050
SCALE(e8m0_sat_rn, e8m0, __NV_SATFINITE, cudaRoundNearest)
SCALE(e8m0_nosat_rn, e8m0, __NV_NOSAT, cudaRoundNearest)
SCALE(ue5m3_sat_rn, ue5m3, __NV_SATFINITE, cudaRoundNearest)
SCALE(ue5m3_sat_rz, ue5m3, __NV_SATFINITE, cudaRoundZero)
SCALE(ue5m3_sat_ru, ue5m3, __NV_SATFINITE, cudaRoundPosInf)
SCALE(ue5m3_nosat_rn, ue5m3, __NV_NOSAT, cudaRoundNearest)
SCALE(ue5m3_nosat_rz, ue5m3, __NV_NOSAT, cudaRoundZero)
SCALE(ue5m3_nosat_ru, ue5m3, __NV_NOSAT, cudaRoundPosInf)
NARROW(e3m2_sat_ru, fp6, __NV_E3M2, cudaRoundPosInf)
NARROW(e3m2_sat_rd, fp6, __NV_E3M2, cudaRoundMinInf)
NARROW(e2m3_sat_ru, fp6, __NV_E2M3, cudaRoundPosInf)
NARROW(e2m3_sat_rd, fp6, __NV_E2M3, cudaRoundMinInf)
NARROW(e2m1_sat_ru, fp4, __NV_E2M1, cudaRoundPosInf)
NARROW(e2m1_sat_rd, fp4, __NV_E2M1, cudaRoundMinInf)
#endif

// Doubles have the nearest-even conversion only.
#define HALF(NAME, CONVERT) FUNCTION(NAME, float, std::uint16_t, __half_raw(CONVERT(x)).x)
#define BRAIN(NAME, CONVERT) FUNCTION(NAME, float, std::uint16_t, __nv_bfloat16_raw(CONVERT(x)).x)

HALF(fp16_nosat_rn_f32, __float2half_rn)
HALF(fp16_nosat_rz_f32, __float2half_rz)
HALF(fp16_nosat_ru_f32, __float2half_ru)
HALF(fp16_nosat_rd_f32, __float2half_rd)
FUNCTION(fp16_nosat_rn_f64, double, std::uint16_t, __half_raw(__double2half(x)).x)

BRAIN(bf16_nosat_rn_f32, __float2bfloat16_rn)
BRAIN(bf16_nosat_rz_f32, __float2bfloat16_rz)
BRAIN(bf16_nosat_ru_f32, __float2bfloat16_ru)
BRAIN(bf16_nosat_rd_f32, __float2bfloat16_rd)
FUNCTION(bf16_nosat_rn_f64, double, std::uint16_t, __nv_bfloat16_raw(__double2bfloat16(x)).x)

extern "C" int cuda_version() { return CUDART_VERSION; }
