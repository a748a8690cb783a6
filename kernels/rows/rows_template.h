/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes of rows.h for one dtype; included once for each by rows_build.h, which defines
 *   ROW(name)  the function's name with the dtype behind       E  the element as stored
 *   A, V, W    what results are computed in, its vector, elements of that
 *   LOAD_D STORE_V LOAD_V STREAM_V  WD elements as f64, W elements as V, and back;  LOAD_1  one element as f64
 *   A_LOAD A_STORE A_OF A_LARGER EXP EXP_ONE  V from and to memory of A, of one number, the larger of two, exponentials;  VI  its masks
 *   ADD_V ADD_V_TO           adds V to f64 vectors, to f64 numbers in memory
 * Loops go in blocks of 16 elements; what is left is padded to a whole vector, or added to its lanes one by one.
 */

/* Body of a row sum of TERM over v (a vd) with its scalar form over s. */
#define ROW_SUM(TERM_V, TERM_S)                             \
    const E *p = x;                                         \
    vd total[OPD_ROWS_LANES / WD] = { 0 };                  \
    int64_t i = 0;                                          \
    while (n - i >= OPD_ROWS_LANES) {                       \
        int64_t end = i + lanes_block(n - i);               \
        vd acc[OPD_ROWS_LANES / WD] = { 0 };                \
        for (; i < end; i += OPD_ROWS_LANES) {              \
            for (int k = 0; k < OPD_ROWS_LANES / WD; k++) { \
                vd v = LOAD_D(p + i + k * WD);              \
                acc[k] += (TERM_V);                         \
            }                                               \
        }                                                   \
        lanes_add(total, acc);                              \
    }                                                       \
    if (i < n) {                                            \
        double rest[OPD_ROWS_LANES] = { 0 };                \
        for (int k = 0; i < n; i++, k++) {                  \
            double s = LOAD_1(p + i);                       \
            rest[k] = (TERM_S);                             \
        }                                                   \
        lanes_add_numbers(total, rest);                     \
    }                                                       \
    return lanes_combine(total)

static double ROW(sum)(const void *x, int64_t n)
{
    ROW_SUM(v, s);
}

static double ROW(sum_abs)(const void *x, int64_t n)
{
    ROW_SUM(vd_abs(v), s < 0.0 ? -s : s);
}

static double ROW(sum_squares)(const void *x, int64_t n, double centre)
{
    vd c = vd_of(centre);
    ROW_SUM((v - c) * (v - c), (s - centre) * (s - centre));
}

#undef ROW_SUM

/* Largest of sign * x, times sign. */
static inline double ROW(extreme)(const void *x, int64_t n, A sign)
{
    enum { PARTS = 4 };
    const E *p = x;
    const V s = A_OF(sign);
    V best[PARTS];
    VI nan[PARTS] = { 0 };
    for (int k = 0; k < PARTS; k++) {
        best[k] = A_OF(-(A)INFINITY);
    }
    int64_t i = 0;
    for (; n - i >= PARTS * W; i += PARTS * W) {
        for (int k = 0; k < PARTS; k++) {
            V v = LOAD_V(p + i + k * W) * s;
            best[k] = A_LARGER(v, best[k]);
            nan[k] |= v != v;
        }
    }
    for (int k = 1; k < PARTS; k++) {
        best[0] = A_LARGER(best[k], best[0]);
        nan[0] |= nan[k];
    }
    A result = -(A)INFINITY;
    bool has_nan = false;
    for (int k = 0; k < W; k++) {
        has_nan = has_nan || nan[0][k] != 0;
        result = best[0][k] > result ? best[0][k] : result;
    }
    for (; i < n; i++) {
        A v = (A)LOAD_1(p + i) * sign;
        has_nan = has_nan || v != v;
        result = v > result ? v : result;
    }
    return has_nan ? (double)NAN : (double)(sign * result);
}

static double ROW(largest)(const void *x, int64_t n)
{
    return ROW(extreme)(x, n, (A)1);
}

static double ROW(smallest)(const void *x, int64_t n)
{
    return ROW(extreme)(x, n, (A)-1);
}

static int64_t ROW(find)(const void *x, int64_t n, double value, bool last)
{
    const E *p = x;
    int64_t step = last ? -1 : 1;
    for (int64_t i = last ? n - 1 : 0; i >= 0 && i < n; i += step) {
        double v = LOAD_1(p + i);
        if (v == value || (v != v && value != value)) {
            return i;
        }
    }
    return -1;
}

static void ROW(widen)(void *inner, const void *x, int64_t n)
{
    const E *p = x;
    A *out = inner;
    int64_t i = 0;
    for (; n - i >= W; i += W) {
        A_STORE(out + i, LOAD_V(p + i));
    }
    for (; i < n; i++) {
        out[i] = (A)LOAD_1(p + i);
    }
}

/* The last n < W elements of a row, padded with zeros. */
static inline V ROW(load_part)(const E *p, int64_t n)
{
    E padded[W] = { 0 };
    memcpy(padded, p, (size_t)n * sizeof(E));
    return LOAD_V(padded);
}

static inline V ROW(load_inner_part)(const A *p, int64_t n)
{
    A padded[W] = { 0 };
    memcpy(padded, p, (size_t)n * sizeof(A));
    return A_LOAD(padded);
}

static inline void ROW(store_part)(E *p, V v, int64_t n)
{
    E padded[W];
    STORE_V(padded, v);
    memcpy(p, padded, (size_t)n * sizeof(E));
}

/* Elements before the first one of p that STREAM_V may store to, at most n; n when there is none. */
static inline int64_t ROW(head)(const E *p, int64_t n, bool streams)
{
    uintptr_t beyond = (uintptr_t)p % LANES_BYTES;
    if (!streams || sizeof(E) != sizeof(A) || beyond == 0) {
        return 0;
    }
    int64_t head = (int64_t)((LANES_BYTES - beyond) / sizeof(E));
    return beyond % sizeof(E) != 0 || head > n ? n : head;
}

/* y[i] = EXPRESSION of v = inner[i] for the row: stored plainly up to where vectors are aligned, then streamed if wanted, then the rest. */
#define ROW_MAP(EXPRESSION)                                      \
    E *out = y;                                                  \
    const A *in = inner;                                         \
    int64_t i = 0;                                               \
    int64_t head = ROW(head)(out, n, streams);                   \
    bool around = streams && sizeof(E) == sizeof(A) && head < n; \
    while (i < n) {                                              \
        int64_t left = i < head ? head - i : n - i;              \
        if (left < W) {                                          \
            V v = ROW(load_inner_part)(in + i, left);            \
            V r = (EXPRESSION);                                  \
            ROW(store_part)(out + i, r, left);                   \
            i += left;                                           \
            continue;                                            \
        }                                                        \
        int64_t end = i + left / W * W;                          \
        if (around && i >= head) {                               \
            for (; i < end; i += W) {                            \
                V v = A_LOAD(in + i);                            \
                STREAM_V(out + i, (EXPRESSION));                 \
            }                                                    \
        } else {                                                 \
            for (; i < end; i += W) {                            \
                V v = A_LOAD(in + i);                            \
                STORE_V(out + i, (EXPRESSION));                  \
            }                                                    \
        }                                                        \
    }

static void ROW(scale)(void *y, const void *inner, int64_t n, double factor, bool streams)
{
    const V f = A_OF((A)factor);
    ROW_MAP(v * f)
}

static void ROW(shift)(void *y, const void *inner, int64_t n, double first, double second, bool streams)
{
    const V a = A_OF((A)first);
    const V b = A_OF((A)second);
    ROW_MAP((v - a) - b)
}

#define BESIDE(p) (left < W ? ROW(load_part)((p) + i, left) : LOAD_V((p) + i))

static void ROW(affine)(void *y, const void *inner, int64_t n, const opd_affine *how)
{
    const V c = A_OF((A)how->centre);
    const V f = A_OF((A)how->factor);
    const V common_scale = A_OF((A)how->common_scale);
    const V common_bias = A_OF((A)how->common_bias);
    const E *scale = how->scale;
    const E *bias = how->bias;
    const bool streams = how->streams;
    if (scale != NULL && bias != NULL) {
        ROW_MAP((v - c) * f * BESIDE(scale) + BESIDE(bias))
    } else if (scale != NULL) {
        ROW_MAP((v - c) * f * BESIDE(scale) + common_bias)
    } else {
        ROW_MAP((v - c) * f * common_scale + common_bias)
    }
}

#undef BESIDE

static void ROW(normalize)(void *result, const void *inner, int64_t n, double centre, double factor)
{
    const A *in = inner;
    A *out = result;
    for (int64_t i = 0; i < n; i++) {
        out[i] = (in[i] - (A)centre) * (A)factor;
    }
}

#undef ROW_MAP

static void ROW(add)(void *inner, void *y, const void *a, const void *b, int64_t n)
{
    const E *p = a;
    const E *q = b;
    E *out = y;
    A *in = inner;
    int64_t i = 0;
    for (; n - i >= W; i += W) {
        V sum = LOAD_V(p + i) + LOAD_V(q + i);
        A_STORE(in + i, sum);
        if (out != NULL) {
            STORE_V(out + i, sum);
        }
    }
    if (i < n) {
        V sum = ROW(load_part)(p + i, n - i) + ROW(load_part)(q + i, n - i);
        memcpy(in + i, &sum, (size_t)(n - i) * sizeof(A));
        if (out != NULL) {
            ROW(store_part)(out + i, sum, n - i);
        }
    }
}

/* Sums over up to three rows, then over neighbours; what is beyond the ends counts for nothing. */
static void ROW(window_mean)(void *means, void *sums, const void *const *three, int64_t n)
{
    A *vertical = sums;
    A *out = means;
    int count = 0;
    for (int64_t j = 0; j < n; j++) {
        vertical[j] = 0;
    }
    for (int k = 0; k < 3; k++) {
        const E *p = three[k];
        int64_t j = 0;
        for (; p != NULL && n - j >= W; j += W) {
            A_STORE(vertical + j, A_LOAD(vertical + j) + LOAD_V(p + j));
        }
        for (; p != NULL && j < n; j++) {
            vertical[j] += (A)LOAD_1(p + j);
        }
        count += p != NULL;
    }
    for (int64_t j = 1; j + 1 < n; j++) {
        out[j] = (vertical[j - 1] + vertical[j] + vertical[j + 1]) / (A)(3 * count);
    }
    if (n == 1) {
        out[0] = vertical[0] / (A)count;
    } else if (n > 1) {
        out[0] = (vertical[0] + vertical[1]) / (A)(2 * count);
        out[n - 1] = (vertical[n - 2] + vertical[n - 1]) / (A)(2 * count);
    }
}

static double ROW(exp_sum)(void *result, const void *inner, int64_t n, double centre)
{
    const A *in = inner;
    A *out = result;
    enum { PARTS = OPD_ROWS_LANES / W < 2 ? 1 : 2 };
    const V c = A_OF((A)centre);
    vd total[OPD_ROWS_LANES / WD] = { 0 };
    int64_t i = 0;
    while (n - i >= OPD_ROWS_LANES) {
        int64_t end = i + lanes_block(n - i);
        vd acc[OPD_ROWS_LANES / WD] = { 0 };
        for (; i < end; i += OPD_ROWS_LANES) {
            for (int k = 0; k < OPD_ROWS_LANES; k += PARTS * W) {
                V v[PARTS];
                for (int j = 0; j < PARTS; j++) {
                    v[j] = A_LOAD(in + i + k + j * W) - c;
                    __builtin_prefetch(in + i + k + j * W + n, 0, 2);
                }
                EXP(v, PARTS);
                for (int j = 0; j < PARTS; j++) {
                    A_STORE(out + i + k + j * W, v[j]);
                    ADD_V(acc + (k + j * W) / WD, v[j]);
                }
            }
        }
        lanes_add(total, acc);
    }
    if (i < n) {
        double rest[OPD_ROWS_LANES] = { 0 };
        for (int k = 0; i < n; k += W) {
            int64_t left = n - i < W ? n - i : W;
            V v = EXP_ONE(ROW(load_inner_part)(in + i, left) - c);
            memcpy(out + i, &v, (size_t)left * sizeof(A));
            for (int l = 0; l < left; l++) {
                rest[k + l] = (double)v[l];
            }
            i += left;
        }
        lanes_add_numbers(total, rest);
    }
    return lanes_combine(total);
}
