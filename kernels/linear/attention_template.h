/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention for one accumulator type and one instruction set. Scores are kept transposed, [key][query], PANEL queries to a panel: then the
 * statistics of a row are a lane, and the scores are the packed factor of the second product as they are.
 */
#include "tile_vectors.h"

#include "row_template.h"

typedef struct NAME(block) {
    real *queries;                              /* [panel][width][PANEL], scaled */
    real *sums;                                 /* [panel][value_width][PANEL] */
    real *largest;                              /* [QUERIES], -Inf before the first key */
    real *total;                                /* [QUERIES] */
    real *rescale;                              /* [PANEL] */
    real *scores;                               /* [KEYS][PANEL] */
    real *bias;                                 /* [KEYS][PANEL] */
    real *keys;                                 /* [KEYS][width], where the dtype is not the accumulator's */
    real *values;                               /* [KEYS][value_width] */
    real *row;                                  /* [width + value_width] */
    int64_t batch, head, kv_head, first, count; /* queries of this part */
} NAME(block);

/* Rows of keys or values in memory. */
typedef struct NAME(rows) {
    const real *at;
    int64_t step;
} NAME(rows);

static inline real NAME(exponential)(real x)
{
#if REAL_IS_DOUBLE
    return exp(x);
#else
    return exp_f32(x);
#endif
}

static inline real NAME(tangent)(real x)
{
#if REAL_IS_DOUBLE
    return tanh(x);
#else
    return tanh_f32(x);
#endif
}

/* ------------------------------------------------------------------------------------- masks, scores in memory */

/* to[j * to_step] = what mask element from + j * step adds to a score. */
static void NAME(gather_bias)(real *to, int64_t to_step, const opd_attention_job *job, int64_t from, int64_t step,
                              int64_t count)
{
    if (job->mask_dtype != OPD_BOOL) {
        NAME(gather)(to, to_step, job->mask_dtype, NAME(element_at)(job->mask, job->mask_dtype, from), step, count);
        return;
    }
    const uint8_t *mask = (const uint8_t *)job->mask + from;
    for (int64_t j = 0; j < count; j++) {
        to[j * to_step] = mask[j * step] != 0 ? 0 : -(real)INFINITY;
    }
}

/* The bias of one row for keys [key, key + count): what the mask says, or -Inf for what is excluded. */
static void NAME(make_bias)(const opd_attention_job *job, const int64_t at[3], int64_t key, int64_t count, real *bias,
                            int64_t step)
{
    const opd_attention_shape *shape = &job->shape;
    int64_t covered = shape->mask_keys - key < count ? shape->mask_keys - key : count;
    covered = job->mask == NULL || covered < 0 ? 0 : covered;
    if (covered > 0) {
        int64_t from = at[0] * shape->mask[0] + at[1] * shape->mask[1] + at[2] * shape->mask[2];
        NAME(gather_bias)(bias, step, job, from + key * shape->mask[3], shape->mask[3], covered);
    }
    for (int64_t j = covered; j < count; j++) {
        bias[j * step] = job->mask == NULL ? 0 : -(real)INFINITY;
    }
    int64_t open = at[2] + shape->past + 1 - key; /* keys the row may see, from the first here */
    for (int64_t j = open > 0 ? open : 0; j < count && shape->is_causal; j++) {
        bias[j * step] -= (real)INFINITY;
    }
}

static void NAME(cap_scores)(const opd_attention_job *job, real *scores, int64_t count)
{
    real cap = (real)job->shape.softcap;
    for (int64_t i = 0; i < count && cap > 0; i++) {
        scores[i] = cap * NAME(tangent)(scores[i] / cap);
    }
}

static void NAME(softmax_row)(real *scores, int64_t count)
{
    real largest = -(real)INFINITY;
    for (int64_t i = 0; i < count; i++) {
        largest = scores[i] > largest || scores[i] != scores[i] ? scores[i] : largest;
    }
    for (int64_t i = 0; i < count; i++) {
        scores[i] = NAME(exponential)(scores[i] - largest);
    }
    real total = 0;
    for (int64_t from = 0; from < count; from += OPD_ATTENTION_KEYS) {
        real block = 0;
        for (int64_t i = from; i < count && i < from + OPD_ATTENTION_KEYS; i++) {
            block += scores[i];
        }
        total += block;
    }
    for (int64_t i = 0; i < count; i++) {
        scores[i] /= total;
    }
}

static void NAME(do_softmax)(const opd_attention_job *job, int64_t flat)
{
    const opd_attention_shape *shape = &job->shape;
    real *scores = (real *)job->scores + flat * shape->keys;
    int64_t at[3] = { flat / shape->rows / shape->heads, flat / shape->rows % shape->heads, flat % shape->rows };
    NAME(cap_scores)(job, scores, shape->keys);
    for (int64_t key = 0; key < shape->keys && (job->mask != NULL || shape->is_causal); key += OPD_ATTENTION_KEYS) {
        real bias[OPD_ATTENTION_KEYS];
        int64_t count = shape->keys - key < OPD_ATTENTION_KEYS ? shape->keys - key : OPD_ATTENTION_KEYS;
        NAME(make_bias)(job, at, key, count, bias, 1);
        for (int64_t j = 0; j < count; j++) {
            scores[key + j] += bias[j];
        }
    }
    NAME(softmax_row)(scores, shape->keys);
}

/* ---------------------------------------------------------------------------------------------- online softmax */

static void NAME(load_queries)(const opd_attention_job *job, NAME(block) * block)
{
    const opd_attention_shape *shape = &job->shape;
    real scale = (real)opd_attention_scale(shape);
    memset(block->queries, 0, (size_t)(OPD_ATTENTION_QUERIES * shape->width) * sizeof(real));
    memset(block->sums, 0, (size_t)(OPD_ATTENTION_QUERIES * shape->value_width) * sizeof(real));
    for (int64_t i = 0; i < OPD_ATTENTION_QUERIES; i++) {
        block->largest[i] = -(real)INFINITY;
        block->total[i] = 0;
    }
    for (int64_t i = 0; i < block->count; i++) {
        int64_t from = block->batch * shape->q[0] + block->head * shape->q[1] + (block->first + i) * shape->q[2];
        real *panel = block->queries + i / PANEL * PANEL * shape->width + i % PANEL;
        NAME(gather)(panel, PANEL, job->dtype, NAME(element_at)(job->q, job->dtype, from), 1, shape->width);
        for (int64_t d = 0; d < shape->width; d++) {
            panel[d * PANEL] *= scale;
        }
    }
}

/* count rows of keys (or values) from `key`, which lie on one side of the past's end. */
static NAME(rows)
    NAME(load_rows)(const opd_attention_job *job, const NAME(block) * block, bool is_value, int64_t key, int64_t count)
{
    const opd_attention_shape *shape = &job->shape;
    int64_t width = is_value ? shape->value_width : shape->width;
    const int64_t *stride = is_value ? shape->v : shape->k;
    const void *data = is_value ? job->v : job->k;
    int64_t from = block->batch * stride[0] + block->kv_head * stride[1] + (key - shape->past) * stride[2];
    int64_t step = stride[2];
    if (key < shape->past) {
        data = is_value ? job->past_value : job->past_key;
        from = ((block->batch * shape->kv_heads + block->kv_head) * shape->past + key) * width;
        step = width;
    }
    const void *at = NAME(element_at)(data, job->dtype, from);
    if (opd_dtype_size(job->dtype) == sizeof(real)) {
        return (NAME(rows)){ at, step };
    }
    real *to = is_value ? block->values : block->keys;
    for (int64_t j = 0; j < count; j++) {
        NAME(gather)(to + j * width, 1, job->dtype, NAME(element_at)(at, job->dtype, j * step), 1, width);
    }
    return (NAME(rows)){ to, width };
}

/* result[i][PANEL) (+)= sum over k < depth of a[k * a_step + i * a_row] b[k][PANEL), i < rows. */
static void NAME(multiply)(int64_t rows, int64_t depth, const real *a, int64_t a_step, int64_t a_row, const real *b,
                           real *result, const int is_added)
{
    for (; rows >= PANEL_ROWS; rows -= PANEL_ROWS) {
        NAME(multiply_rows)(PANEL_ROWS, depth, a, a_step, a_row, b, result, PANEL, is_added);
        a += PANEL_ROWS * a_row;
        result += PANEL_ROWS * PANEL;
    }
    switch (rows) {
    case 5:
        NAME(multiply_rows)(5, depth, a, a_step, a_row, b, result, PANEL, is_added);
        break;
    case 4:
        NAME(multiply_rows)(4, depth, a, a_step, a_row, b, result, PANEL, is_added);
        break;
    case 3:
        NAME(multiply_rows)(3, depth, a, a_step, a_row, b, result, PANEL, is_added);
        break;
    case 2:
        NAME(multiply_rows)(2, depth, a, a_step, a_row, b, result, PANEL, is_added);
        break;
    case 1:
        NAME(multiply_rows)(1, depth, a, a_step, a_row, b, result, PANEL, is_added);
        break;
    default:
        break;
    }
}

/* Scores of a panel into weights relative to its new largest ones; *rescale: what older sums are multiplied by. */
static void NAME(weigh)(NAME(block) * block, int64_t panel, int64_t count)
{
    real *scores = block->scores;
    for (int64_t half = 0; half < PANEL; half += LANES) {
        vec_at *largest_at = (vec_at *)(block->largest + panel + half);
        vec old = *largest_at;
        vec largest = old;
        for (int64_t j = 0; j < count; j++) {
            vec score = *(const vec_at *)(scores + j * PANEL + half);
            NAME(vec_bits) is_taken = (score > largest) | (score != score);
            largest = (vec)(((NAME(vec_bits))score & is_taken) | ((NAME(vec_bits))largest & ~is_taken));
        }
        *largest_at = largest;
        /* Where all is excluded yet, anything finite will do: weights and sums are 0. */
        NAME(vec_bits) is_nothing = largest == NAME(splat)(-(real)INFINITY);
        vec base = (vec)((NAME(vec_bits))largest & ~is_nothing);
        for (int64_t j = 0; j < count; j++) {
            *(vec_at *)(scores + j * PANEL + half) -= base;
        }
        *(vec_at *)(block->rescale + half) = old - base;
    }
    for (int64_t i = 0; i < count * PANEL; i++) {
        scores[i] = NAME(exponential)(scores[i]);
    }
    for (int64_t i = 0; i < PANEL; i++) {
        block->rescale[i] = NAME(exponential)(block->rescale[i]);
    }
    for (int64_t half = 0; half < PANEL; half += LANES) {
        vec total = { 0 };
        for (int64_t j = 0; j < count; j++) {
            total += *(const vec_at *)(scores + j * PANEL + half);
        }
        vec_at *total_at = (vec_at *)(block->total + panel + half);
        *total_at = *total_at * *(const vec_at *)(block->rescale + half) + total;
    }
}

static void NAME(rescale_sums)(const NAME(block) * block, real *sums, int64_t width)
{
    for (int64_t half = 0; half < PANEL; half += LANES) {
        vec factor = *(const vec_at *)(block->rescale + half);
        for (int64_t e = 0; e < width; e++) {
            *(vec_at *)(sums + e * PANEL + half) *= factor;
        }
    }
}

static void NAME(add_bias)(const opd_attention_job *job, const NAME(block) * block, int64_t panel, int64_t key,
                           int64_t count)
{
    int64_t rows = block->count - panel < PANEL ? block->count - panel : PANEL;
    for (int64_t i = 0; i < rows; i++) {
        int64_t at[3] = { block->batch, block->head, block->first + panel + i };
        NAME(make_bias)(job, at, key, count, block->bias + i, PANEL);
    }
    for (int64_t j = 0; j < count; j++) {
        for (int64_t i = 0; i < rows; i++) {
            block->scores[j * PANEL + i] += block->bias[j * PANEL + i];
        }
    }
}

#include "attention_stages_template.h"

static void NAME(add_keys)(const opd_attention_job *job, NAME(block) * block, int64_t key, int64_t count)
{
    const opd_attention_shape *shape = &job->shape;
    NAME(rows) keys = NAME(load_rows)(job, block, false, key, count);
    NAME(rows) values = NAME(load_rows)(job, block, true, key, count);
    for (int64_t panel = 0; panel < block->count; panel += PANEL) {
        real *sums = block->sums + panel * shape->value_width;
        NAME(multiply)
        (count, shape->width, keys.at, 1, keys.step, block->queries + panel * shape->width, block->scores, 0);
        if (job->scores != NULL) {
            NAME(keep_panel)(job, block, job->scores, panel, key, count);
        }
        NAME(cap_scores)(job, block->scores, count * PANEL);
        bool is_biased =
            job->mask != NULL || (shape->is_causal && key + count > block->first + panel + shape->past + 1);
        if (is_biased) {
            NAME(add_bias)(job, block, panel, key, count);
        }
        NAME(weigh)(block, panel, count);
        if (job->scores != NULL) {
            NAME(keep_weights)(job, block, panel, key, count);
        }
        NAME(rescale_sums)(block, sums, shape->value_width);
        NAME(multiply)(shape->value_width, count, values.at, values.step, 1, block->scores, sums, 1);
    }
}

static bool NAME(is_finite)(NAME(rows) rows, int64_t count, int64_t width)
{
    real zero = 0;
    for (int64_t j = 0; j < count; j++) {
        const real *x = rows.at + j * rows.step;
        vec zeros = { 0 };
        int64_t i = 0;
        for (; i + LANES <= width; i += LANES) {
            zeros += *(const vec_at *)(x + i) * 0;
        }
        for (int lane = 0; lane < LANES; lane++) {
            zero += zeros[lane];
        }
        for (; i < width; i++) {
            zero += x[i] * 0;
        }
    }
    return zero == 0;
}

/* Keys [key, end of the block or of its side of the past's end). */
static int64_t NAME(block_length)(const opd_attention_shape *shape, int64_t key, int64_t end)
{
    int64_t stop = key < shape->past && shape->past < end ? shape->past : end;
    return stop - key < OPD_ATTENTION_KEYS ? stop - key : OPD_ATTENTION_KEYS;
}

/*
 * Keys that this part must look at: under a causal mask those its last row sees, unless a later one holds a NaN or Inf, which
 * by the definition takes part with weight 0.
 */
static int64_t NAME(key_end)(const opd_attention_job *job, const NAME(block) * block)
{
    const opd_attention_shape *shape = &job->shape;
    int64_t end = block->first + block->count + shape->past;
    if (!shape->is_causal || end >= shape->keys || job->scores != NULL) {
        return shape->keys; /* traced: a score of every key, and weights of 0 change nothing */
    }
    for (int64_t key = end; key < shape->keys;) {
        int64_t count = NAME(block_length)(shape, key, shape->keys);
        if (!NAME(is_finite)(NAME(load_rows)(job, block, false, key, count), count, shape->width) ||
            !NAME(is_finite)(NAME(load_rows)(job, block, true, key, count), count, shape->value_width)) {
            return shape->keys;
        }
        key += count;
    }
    return end;
}

static void NAME(write_rows)(const opd_attention_job *job, const NAME(block) * block)
{
    const opd_attention_shape *shape = &job->shape;
    for (int64_t i = 0; i < block->count; i++) {
        const real *sums = block->sums + i / PANEL * PANEL * shape->value_width + i % PANEL;
        real total = shape->keys > 0 ? block->total[i] : 1; /* without keys: a sum of nothing */
        for (int64_t e = 0; e < shape->value_width; e++) {
            block->row[e] = sums[e * PANEL] / total;
        }
        int64_t to = block->batch * shape->y[0] + block->head * shape->y[1] + (block->first + i) * shape->y[2];
        NAME(scatter)(job->dtype, NAME(element_out)(job->y, job->dtype, to), block->row, shape->value_width);
    }
}

static void NAME(do_queries)(const opd_attention_job *job, real *scratch, int64_t part)
{
    const opd_attention_shape *shape = &job->shape;
    int64_t parts = (shape->rows + OPD_ATTENTION_QUERIES - 1) / OPD_ATTENTION_QUERIES;
    NAME(block)
    block = { .first = part % parts * OPD_ATTENTION_QUERIES,
              .head = part / parts % shape->heads,
              .batch = part / parts / shape->heads };
    block.kv_head = block.head / (shape->heads / shape->kv_heads);
    block.count = shape->rows - block.first < OPD_ATTENTION_QUERIES ? shape->rows - block.first : OPD_ATTENTION_QUERIES;
    block.scores = scratch;
    block.bias = block.scores + OPD_ATTENTION_KEYS * PANEL;
    block.largest = block.scores + OPD_ATTENTION_KEYS * OPD_ATTENTION_QUERIES;
    block.total = block.largest + OPD_ATTENTION_QUERIES;
    block.rescale = block.total + OPD_ATTENTION_QUERIES;
    block.queries = block.rescale + 2 * OPD_ATTENTION_QUERIES;
    block.sums = block.queries + OPD_ATTENTION_QUERIES * shape->width;
    block.keys = block.sums + OPD_ATTENTION_QUERIES * shape->value_width;
    block.values = block.keys + OPD_ATTENTION_KEYS * shape->width;
    block.row = block.values + OPD_ATTENTION_KEYS * shape->value_width;
    NAME(load_queries)(job, &block);
    int64_t end = NAME(key_end)(job, &block);
    for (int64_t key = 0; key < end;) {
        int64_t count = NAME(block_length)(shape, key, end);
        NAME(add_keys)(job, &block, key, count);
        key += count;
    }
    NAME(write_rows)(job, &block);
    if (job->scores != NULL) {
        NAME(divide_weights)(job, &block);
    }
}

#include "tile_done.h"
