/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes over columns of rows.h for one dtype, and the table of all; included by rows_build.h behind rows_template.h, which says what is
 * defined.
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

/* numbers[0 .. width) as A, padded to whole vectors; NULL: otherwise for all of them. */
static void ROW(table)(A *table, const double *numbers, int64_t width, A otherwise)
{
    for (int64_t j = 0; j < (width + W - 1) / W * W; j++) {
        table[j] = numbers != NULL && j < width ? (A)numbers[j] : otherwise;
    }
}

/* y = EXPRESSION of v = x[r][j] for all of a block; at(table) are the numbers of the columns. */
#define COLUMN_MAP(EXPRESSION)                                                       \
    int64_t out_stride = block->out_stride != 0 ? block->out_stride : block->stride; \
    for (int64_t r = 0; r < block->rows; r++) {                                      \
        const E *p = (const E *)block->x + r * block->stride;                        \
        E *out = (E *)y + r * out_stride;                                            \
        int64_t j = 0;                                                               \
        for (; block->width - j >= W; j += W) {                                      \
            V v = LOAD_V(p + j);                                                     \
            STORE_V(out + j, (EXPRESSION));                                          \
        }                                                                            \
        if (j < block->width) {                                                      \
            V v = ROW(load_part)(p + j, block->width - j);                           \
            ROW(store_part)(out + j, (EXPRESSION), block->width - j);                \
        }                                                                            \
    }
#define AT(table) A_LOAD((table) + j)

static void ROW(column_exp_sum)(double *acc, void *kept, const opd_block *block, const double *centre)
{
    enum { PARTS = 2 };
    A c[OPD_ROWS_TILE + W];
    ROW(table)(c, centre, block->width, (A)0);
    for (int64_t r = 0; r < block->rows; r++) {
        const E *p = (const E *)block->x + r * block->stride;
        E *out = kept != NULL ? (E *)kept + r * block->stride : NULL;
        int64_t j = 0;
        for (; block->width - j >= PARTS * W; j += PARTS * W) {
            V v[PARTS];
            for (int k = 0; k < PARTS; k++) {
                v[k] = LOAD_V(p + j + k * W) - AT(c + k * W);
            }
            EXP(v, PARTS);
            for (int k = 0; k < PARTS; k++) {
                ADD_V_TO(acc + j + k * W, v[k]);
                if (out != NULL) {
                    STORE_V(out + j + k * W, v[k]);
                }
            }
        }
        for (; j < block->width; j += W) {
            int64_t left = block->width - j < W ? block->width - j : W;
            V v = EXP_ONE(ROW(load_part)(p + j, left) - AT(c));
            for (int64_t l = 0; l < left; l++) {
                acc[j + l] += (double)v[l];
            }
            if (out != NULL) {
                ROW(store_part)(out + j, v, left);
            }
        }
    }
}

static void ROW(column_softmax)(void *y, const opd_block *block, const double *centre, const double *factor)
{
    A c[OPD_ROWS_TILE + W];
    A f[OPD_ROWS_TILE + W];
    ROW(table)(c, centre, block->width, (A)0);
    ROW(table)(f, factor, block->width, (A)0);
    COLUMN_MAP(EXP_ONE(v - AT(c)) * AT(f))
}

static void ROW(column_scale)(void *y, const opd_block *block, const double *factor)
{
    A f[OPD_ROWS_TILE + W];
    ROW(table)(f, factor, block->width, (A)0);
    COLUMN_MAP(v * AT(f))
}

static void ROW(column_shift)(void *y, const opd_block *block, const double *first, const double *second)
{
    A a[OPD_ROWS_TILE + W];
    A b[OPD_ROWS_TILE + W];
    ROW(table)(a, first, block->width, (A)0);
    ROW(table)(b, second, block->width, (A)0);
    COLUMN_MAP((v - AT(a)) - AT(b))
}

static void ROW(column_affine)(void *y, const opd_block *block, const opd_column_affine *how)
{
    A c[OPD_ROWS_TILE + W];
    A f[OPD_ROWS_TILE + W];
    A s[OPD_ROWS_TILE + W];
    A b[OPD_ROWS_TILE + W];
    ROW(table)(c, how->centre, block->width, (A)0);
    ROW(table)(f, how->factor, block->width, (A)1);
    ROW(table)(s, how->scale, block->width, (A)1);
    ROW(table)(b, how->bias, block->width, (A)0);
    COLUMN_MAP((v - AT(c)) * AT(f) * AT(s) + AT(b))
}

#undef COLUMN_MAP
#undef AT

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
    ENTRY(column_scale),
    ENTRY(column_shift),
    ENTRY(column_affine),
    .fence = lanes_fence,
};
#undef ENTRY
