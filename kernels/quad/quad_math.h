/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes before the sources of definitions when they are compiled with a long double of 113 bits (-mlong-double-128): the C library's functions of
 * that precision for those of long double, and second names for what the files define.
 */
#ifndef OPD_KERNELS_QUAD_MATH_H
#define OPD_KERNELS_QUAD_MATH_H

#include <math.h>

#include <quad_names.h>

#define expl(x)         ((long double)expf128(x))
#define logl(x)         ((long double)logf128(x))
#define powl(x, y)      ((long double)powf128(x, y))
#define sqrtl(x)        ((long double)sqrtf128(x))
#define tanhl(x)        ((long double)tanhf128(x))
#define erfl(x)         ((long double)erff128(x))
#define erfcl(x)        ((long double)erfcf128(x))
#define acosl(x)        ((long double)acosf128(x))
#define fabsl(x)        ((long double)fabsf128(x))
#define fmodl(x, y)     ((long double)fmodf128(x, y))
#define fmaxl(x, y)     ((long double)fmaxf128(x, y))
#define fminl(x, y)     ((long double)fminf128(x, y))
#define ldexpl(x, n)    ((long double)ldexpf128(x, n))
#define frexpl(x, e)    ((long double)frexpf128(x, e))
#define truncl(x)       ((long double)truncf128(x))
#define rintl(x)        ((long double)rintf128(x))
#define floorl(x)       ((long double)floorf128(x))
#define ceill(x)        ((long double)ceilf128(x))
#define copysignl(x, y) ((long double)copysignf128(x, y))

#endif
