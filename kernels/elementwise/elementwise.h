/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the elementwise operators say to each other. A *strip* is a run of up to OPD_STRIP elements in dense arrays: each
 * instruction set brings one loop per operator and dtype over strips, and conversions between dtypes. All else (broadcasting, strides,
 * narrow dtypes, threads) is done once, around them, in elementwise_run.c.
 */
#ifndef OPD_KERNELS_ELEMENTWISE_H
#define OPD_KERNELS_ELEMENTWISE_H

#include <opsdebug/kernel.h>

enum {
    OPD_STRIP = 1024,     /* elements; with buffers for all operands they stay in the first-level cache */
    OPD_STRIP_INPUTS = 3, /* at once; more are folded pair by pair */
    OPD_STRIP_DTYPES = 16,
};

typedef struct opd_strip {
    void *y; /* may be x[0] */
    const void *x[OPD_STRIP_INPUTS];
    int64_t count;
    float alpha;
} opd_strip;

typedef void opd_strip_function(const opd_strip *strip);
typedef void opd_convert_function(void *to, const void *from, int64_t count);

/* How an operator is computed on strips. f16 and bf16 that have no loop of their own are converted to f32 and back. */
typedef struct opd_strip_row {
    const char *name;
    const char *form; /* attribute approximate; NULL: the operator has none */
    int inputs;       /* 0: any number, folded pair by pair */
    opd_dtype second; /* the second input is converted to this one; NONE: to that of the others */
    opd_strip_function *by_dtype[OPD_STRIP_DTYPES];
} opd_strip_row;

/*
 * Conversions by dtype, to and from the three that hold others: f32 the narrow floats, f64 all (i64, u64: rounded), i64 all integers (u64 by
 * its bits). sticky: i64, u64 to f64 with the lost bits kept in the last one, so that a second rounding to a shorter float is as one.
 */
typedef struct opd_conversions {
    opd_convert_function *load_f32[OPD_STRIP_DTYPES], *store_f32[OPD_STRIP_DTYPES];
    opd_convert_function *load_f64[OPD_STRIP_DTYPES], *store_f64[OPD_STRIP_DTYPES];
    opd_convert_function *load_i64[OPD_STRIP_DTYPES], *store_i64[OPD_STRIP_DTYPES];
    opd_convert_function *sticky[OPD_STRIP_DTYPES];
} opd_conversions;

/* All that an instruction set brings. */
typedef struct opd_strip_set {
    const opd_strip_row *rows;
    int row_count;
    const opd_conversions *conversions;
} opd_strip_set;

extern const opd_strip_set opd_strips_portable;
extern const opd_strip_set opd_strips_avx2;
extern const opd_strip_set opd_strips_avx512;

/* Why the set cannot do the call; NULL = it can. */
const char *opd_elementwise_declines(const opd_strip_set *set, const opd_call *call);
/* errors: E_DECLINED as opd_elementwise_declines() says. */
opd_status opd_elementwise_run(const opd_strip_set *set, const opd_call *call, int32_t threads);

#define OPD_ELEMENTWISE(rule, domain, name, class) opd_status opd_elementwise_define_##rule(opd_definition_work *work);
#include "elementwise.def"
#undef OPD_ELEMENTWISE

#endif
