/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the tables of rows.h for the instruction set this file is compiled for; the includer defines LANES_BYTES and ROWS_TABLES, the
 * name of the function that finds them. Private to kernels/rows/.
 */
#include "rows.h"

#include <math.h>
#include <string.h>

#include "lanes.h"
#include "lanes_exp.h"

/* Elements of the next block that is summed for itself, so that chains of additions stay short. */
static inline int64_t lanes_block(int64_t left)
{
    return (left < OPD_ROWS_FOLD ? left : OPD_ROWS_FOLD) / OPD_ROWS_LANES * OPD_ROWS_LANES;
}

static inline void lanes_add(vd *total, const vd *acc)
{
    for (int k = 0; k < OPD_ROWS_LANES / WD; k++) {
        total[k] += acc[k];
    }
}

static inline void lanes_add_numbers(vd *total, const double *numbers)
{
    for (int k = 0; k < OPD_ROWS_LANES / WD; k++) {
        total[k] += vd_load(numbers + k * WD);
    }
}

/* Lane i and lane i + 8, then i + 4, and so on: the same tree at every width. */
static inline double lanes_combine(vd *total)
{
    for (int half = OPD_ROWS_LANES / WD / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; k++) {
            total[k] += total[k + half];
        }
    }
    double lane[WD];
    memcpy(lane, total, sizeof lane);
    for (int half = WD / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; k++) {
            lane[k] += lane[k + half];
        }
    }
    return lane[0];
}

/* v where it is NaN, else otherwise. */
static inline vd vd_keep_nan(vd v, vd otherwise)
{
    vi64 nan = v != v;
    return (vd)((nan & (vi64)v) | (~nan & (vi64)otherwise));
}

static inline double one_f16(const uint16_t *at)
{
    double re;
    double im;
    opd_element_load(OPD_F16, at, &re, &im);
    return re;
}

static inline double one_bf16(const uint16_t *at)
{
    uint16_t low;
    memcpy(&low, at, sizeof low);
    uint32_t bits = (uint32_t)low << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static inline double one_f32(const float *at)
{
    float value;
    memcpy(&value, at, sizeof value);
    return (double)value;
}

static inline double one_f64(const double *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline void vf_store(void *at, vf v)
{
    memcpy(at, &v, sizeof v);
}

static inline void vd_store(void *at, vd v)
{
    memcpy(at, &v, sizeof v);
}

static inline void vf_add(vd *acc, vf v)
{
    acc[0] += vd_low_of(v);
    acc[1] += vd_high_of(v);
}

static inline void vd_add(vd *acc, vd v)
{
    acc[0] += v;
}

static inline void vf_add_to(double *acc, vf v)
{
    vd_store(acc, vd_load(acc) + vd_low_of(v));
    vd_store(acc + WD, vd_load(acc + WD) + vd_high_of(v));
}

static inline void vd_add_to(double *acc, vd v)
{
    vd_store(acc, vd_load(acc) + v);
}

#define A        float
#define V        vf
#define W        WF
#define A_LOAD   vf_load
#define A_STORE  vf_store
#define A_OF     vf_of
#define A_LARGER vf_larger
#define VI       vi32
#define EXP      vf_exp
#define EXP_ONE  vf_exp_one
#define ADD_V    vf_add
#define ADD_V_TO vf_add_to

#define ROW(name) name##_f32
#define DTYPE     OPD_F32
#define E         float
#define LOAD_1    one_f32
#define LOAD_D    vd_load_floats
#define LOAD_V    vf_load
#define STORE_V   vf_store
#define STREAM_V  vf_stream
#include "rows_template.h"

#include "columns_template.h"

#include "rows_again.h"

#define ROW(name)      name##_f16
#define DTYPE          OPD_F16
#define E              uint16_t
#define LOAD_1         one_f16
#define LOAD_D         vd_load_f16
#define LOAD_V         vf_load_f16
#define STORE_V        vf_store_f16
#define STREAM_V(p, v) vf_store_f16(p, v)
#include "rows_template.h"

#include "columns_template.h"

#include "rows_again.h"

#define ROW(name)      name##_bf16
#define DTYPE          OPD_BF16
#define E              uint16_t
#define LOAD_1         one_bf16
#define LOAD_D         vd_load_bf16
#define LOAD_V         vf_load_bf16
#define STORE_V        vf_store_bf16
#define STREAM_V(p, v) vf_store_bf16(p, v)
#include "rows_template.h"

#include "columns_template.h"

#include "rows_again.h"

#undef A
#undef V
#undef W
#undef A_LOAD
#undef A_STORE
#undef A_OF
#undef A_LARGER
#undef VI
#undef EXP
#undef EXP_ONE
#undef ADD_V
#undef ADD_V_TO
#define A        double
#define V        vd
#define W        WD
#define A_LOAD   vd_load
#define A_STORE  vd_store
#define A_OF     vd_of
#define A_LARGER vd_larger
#define VI       vi64
#define EXP      vd_exp
#define EXP_ONE  vd_exp_one
#define ADD_V    vd_add
#define ADD_V_TO vd_add_to

#define ROW(name) name##_f64
#define DTYPE     OPD_F64
#define E         double
#define LOAD_1    one_f64
#define LOAD_D    vd_load
#define LOAD_V    vd_load
#define STORE_V   vd_store
#define STREAM_V  vd_stream
#include "rows_template.h"

#include "columns_template.h"

#include "rows_again.h"

const opd_rows *ROWS_TABLES(opd_dtype dtype)
{
    static const opd_rows *const tables[] = { &table_of_f32, &table_of_f64, &table_of_f16, &table_of_bf16 };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (tables[i]->dtype == dtype) {
            return tables[i];
        }
    }
    return NULL;
}
