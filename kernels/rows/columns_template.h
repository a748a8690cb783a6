/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes over columns of rows.h for one dtype; included once for each by rows_build.h, which defines what rows_template.h says, behind rows_template.h; at the end the table of both.
 */

#define COLUMNS(TERM_V, TERM_S)                               \
    for (int64_t r = 0; r < block->rows; r++) {               \
        const E *p = (const E *)block->x + r * block->stride; \
        int64_t j = 0;                                        \
        for (; block->width - j >= WD; j += WD) {             \
            vd v = LOAD_D(p + j);                             \
            vd a = vd_load(acc + j);                          \
            vd result = (TERM_V);                             \
            memcpy(acc + j, &result, sizeof result);          \
        }                                                     \
        for (; j < block->width; j++) {                       \
            double s = LOAD_1(p + j);                         \
            double a = acc[j];                                \
            acc[j] = (TERM_S);                                \
        }                                                     \
    }

static void ROW(column_sum)(double *acc, const opd_block *block)
{
    COLUMNS(a + v, a + s)
}

static void ROW(column_sum_abs)(double *acc, const opd_block *block)
{
    COLUMNS(a + vd_abs(v), a + (s < 0.0 ? -s : s))
}

static void ROW(column_sum_squares)(double *acc, const opd_block *block)
{
    COLUMNS(a + v * v, a + s * s)
}

/* NaN stays once it is there: the comparison is false, and of two the first comes out when it is NaN. */
static void ROW(column_largest)(double *acc, const opd_block *block)
{
    COLUMNS(vd_keep_nan(v, vd_larger(v, a)), s != s || s > a ? s : a)
}

static void ROW(column_smallest)(double *acc, const opd_block *block)
{
    COLUMNS(vd_keep_nan(v, -vd_larger(-v, -a)), s != s || s < a ? s : a)
}

#undef COLUMNS

/* y = EXPRESSION of v = x[r][j] for all of a block, the numbers of column j in vectors at [j / W] of local tables. */
#define COLUMN_MAP(EXPRESSION, STORE)                                     \
    for (int64_t r = 0; r < block->rows; r++) {                           \
        const E *p = (const E *)block->x + r * block->stride;             \
        for (int64_t j = 0; j < block->width; j += W) {                   \
            int64_t left = block->width - j;                              \
            const int64_t t = j / W;                                      \
            V v = left < W ? ROW(load_part)(p + j, left) : LOAD_V(p + j); \
            V result = (EXPRESSION);                                      \
            STORE                                                         \
        }                                                                 \
    }
#define COLUMN_STORE                         \
    E *out = (E *)y + r * block->stride + j; \
    if (left < W) {                          \
        ROW(store_part)(out, result, left);  \
    } else {                                 \
        STORE_V(out, result);                \
    }

enum { ROW(TABLE) = OPD_ROWS_TILE / W };

/* numbers[0 .. width) in vectors of A; NULL: all of them otherwise. */
static void ROW(table)(V *table, const double *numbers, int64_t width, double otherwise)
{
    for (int64_t j = 0; j < width; j++) {
        table[j / W][j % W] = (A)(numbers != NULL ? numbers[j] : otherwise);
    }
}

static void ROW(column_exp_sum)(double *acc, const opd_block *block, const double *centre)
{
    V c[ROW(TABLE)] = { 0 };
    ROW(table)(c, centre, block->width, 0.0);
    COLUMN_MAP(
        EXP(v - c[t]),
        if (left < W) {
            for (int64_t l = 0; l < left; l++) {
                acc[j + l] += (double)result[l];
            }
        } else { ADD_V_TO(acc + j, result); })
}

static void ROW(column_softmax)(void *y, const opd_block *block, const double *centre, const double *factor)
{
    V c[ROW(TABLE)] = { 0 };
    V f[ROW(TABLE)] = { 0 };
    ROW(table)(c, centre, block->width, 0.0);
    ROW(table)(f, factor, block->width, 0.0);
    COLUMN_MAP(EXP(v - c[t]) * f[t], COLUMN_STORE)
}

static void ROW(column_shift)(void *y, const opd_block *block, const double *first, const double *second)
{
    V a[ROW(TABLE)] = { 0 };
    V b[ROW(TABLE)] = { 0 };
    ROW(table)(a, first, block->width, 0.0);
    ROW(table)(b, second, block->width, 0.0);
    COLUMN_MAP((v - a[t]) - b[t], COLUMN_STORE)
}

static void ROW(column_affine)(void *y, const opd_block *block, const opd_column_affine *how)
{
    V c[ROW(TABLE)] = { 0 };
    V f[ROW(TABLE)] = { 0 };
    V s[ROW(TABLE)] = { 0 };
    V b[ROW(TABLE)] = { 0 };
    ROW(table)(c, how->centre, block->width, 0.0);
    ROW(table)(f, how->factor, block->width, 1.0);
    ROW(table)(s, how->scale, block->width, 1.0);
    ROW(table)(b, how->bias, block->width, 0.0);
    COLUMN_MAP((v - c[t]) * f[t] * s[t] + b[t], COLUMN_STORE)
}

#undef COLUMN_MAP
#undef COLUMN_STORE

#define ENTRY(name) .name = ROW(name)
static const opd_rows ROW(table_of) = {
    .dtype = DTYPE,
    .inner = sizeof(A) == sizeof(float) ? OPD_F32 : OPD_F64,
    ENTRY(sum),
    ENTRY(sum_abs),
    ENTRY(sum_squares),
    ENTRY(largest),
    ENTRY(smallest),
    ENTRY(find),
    ENTRY(widen),
    ENTRY(affine),
    ENTRY(normalize),
    ENTRY(add),
    ENTRY(window_mean),
    ENTRY(exp_sum),
    ENTRY(scale),
    ENTRY(shift),
    ENTRY(column_sum),
    ENTRY(column_sum_abs),
    ENTRY(column_sum_squares),
    ENTRY(column_largest),
    ENTRY(column_smallest),
    ENTRY(column_exp_sum),
    ENTRY(column_softmax),
    ENTRY(column_shift),
    ENTRY(column_affine),
    .fence = lanes_fence,
};
#undef ENTRY
