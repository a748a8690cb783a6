/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of any float dtype to and from `real`, the accumulator's type. Included after tile_vectors.h, once per type. */

/* to[i * to_step] = from[i * from_step] for each i. */
static void NAME(gather)(real *to, int64_t to_step, opd_dtype dtype, const void *from, int64_t from_step, int64_t count)
{
#if REAL_IS_DOUBLE
    (void)dtype;
    const double *wide = from;
    for (int64_t i = 0; i < count; i++) {
        to[i * to_step] = wide[i * from_step];
    }
#else
    const float *whole = from;
    const uint16_t *half = from;
    switch (dtype) {
    case OPD_F16:
        for (int64_t i = 0; i < count; i++) {
            to[i * to_step] = opd_from_f16(half[i * from_step]);
        }
        break;
    case OPD_BF16:
        for (int64_t i = 0; i < count; i++) {
            to[i * to_step] = opd_from_bf16(half[i * from_step]);
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            to[i * to_step] = whole[i * from_step];
        }
    }
#endif
}

static void NAME(scatter)(opd_dtype dtype, void *to, const real *from, int64_t count)
{
#if REAL_IS_DOUBLE
    (void)dtype;
    memcpy(to, from, (size_t)count * sizeof(real));
#else
    uint16_t *half = to;
    switch (dtype) {
    case OPD_F16:
        for (int64_t i = 0; i < count; i++) {
            half[i] = opd_to_f16(from[i]);
        }
        break;
    case OPD_BF16:
        for (int64_t i = 0; i < count; i++) {
            half[i] = opd_to_bf16(from[i]);
        }
        break;
    default:
        memcpy(to, from, (size_t)count * sizeof(real));
    }
#endif
}

static inline const void *NAME(element_at)(const void *data, opd_dtype dtype, int64_t index)
{
    return (const char *)data + index * (int64_t)opd_dtype_size(dtype);
}

static inline void *NAME(element_out)(void *data, opd_dtype dtype, int64_t index)
{
    return (char *)data + index * (int64_t)opd_dtype_size(dtype);
}
