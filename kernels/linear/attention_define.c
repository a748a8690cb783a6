/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definition of Attention and FusedAttention: y = softmax(softcap(scale q k') + bias) v, where what is excluded (mask, causality)
 * has a bias of -Inf. As ONNX's own definition by MatMul and Softmax says, a row with nothing to attend to is NaN and a weight
 * of 0 does not hide a NaN of V. Gauge: sum p |v| * (1 + largest |score| with all its terms taken absolute).
 */
#include <math.h>

#include <opsdebug/memory.h>

#include "linear_define.h"

typedef struct head {
    const opd_definition_work *work;
    opd_attention_shape shape;
    const opd_array *mask, *past_key, *past_value; /* value NULL: not given */
    int64_t batch, head, kv_head;
    long double *score; /* [keys], then weights */
    bool *counts;       /* [keys]: not excluded */
    double *scaled;     /* the row's products before softcap and bias; NULL = not wanted */
    long double reach;  /* largest score of the row by absolute terms */
    bool is_open;       /* a score may be anything, in the accumulator's type */
    opd_array *kept;    /* qk_matmul_output; NULL = not wanted */
    int64_t mode;       /* of it */
} head;

static void keep(const head *at, int64_t row, int64_t key, long double value, long double gauge)
{
    if (at->kept != NULL && at->kept->value != NULL) {
        int64_t to = ((at->batch * at->shape.heads + at->head) * at->shape.rows + row) * at->shape.keys + key;
        at->kept->value[to] = value;
        if (at->kept->gauge != NULL) {
            at->kept->gauge[to] = gauge;
        }
    }
}

static const opd_array absent;

static const opd_array *input(const opd_definition_work *work, int index)
{
    return index < work->call->operand_count && work->call->operands[index].role == OPD_ROLE_IN ? &work->array[index]
                                                                                                : &absent;
}

/* Row j of K (or V), past ones first. */
static const long double *key_row(const head *at, const opd_array *past, const opd_array *now, const int64_t stride[3],
                                  int64_t width, int64_t key)
{
    int64_t length = at->shape.past;
    if (key < length) {
        return past->value + ((at->batch * at->shape.kv_heads + at->kv_head) * length + key) * width;
    }
    return now->value + at->batch * stride[0] + at->kv_head * stride[1] + (key - length) * stride[2];
}

static const long double *key_of(const head *at, int64_t key)
{
    return key_row(at, at->past_key, &at->work->array[1], at->shape.k, at->shape.width, key);
}

static const long double *value_of(const head *at, int64_t key)
{
    return key_row(at, at->past_value, &at->work->array[2], at->shape.v, at->shape.value_width, key);
}

/* What is added to a score: 0, the mask's element, or -Inf for an excluded key. */
static long double bias_of(const head *at, int64_t row, int64_t key)
{
    const opd_attention_shape *shape = &at->shape;
    long double bias = 0;
    if (at->mask->value != NULL) {
        int64_t from =
            at->batch * shape->mask[0] + at->head * shape->mask[1] + row * shape->mask[2] + key * shape->mask[3];
        bool is_covered = key < shape->mask_keys;
        bias = is_covered ? at->mask->value[from] : -(long double)INFINITY;
        if (is_covered && at->mask->dtype == OPD_BOOL) {
            bias = bias != 0 ? 0 : -(long double)INFINITY;
        }
    }
    return shape->is_causal && key > row + shape->past ? bias - (long double)INFINITY : bias;
}

/*
 * May a score become something else because of what happens on the way to it: finite terms that leave the range, a factor that is scaled before it meets an
 * infinite one and vanishes?
 */
static bool is_open(const head *at, const long double *query, int64_t key, long double scale)
{
    long double terms = 0;
    bool is_lost = false;
    for (int64_t i = 0; i < at->shape.width; i++) {
        long double other = key_of(at, key)[i];
        long double least = fminl(fabsl(query[i]), fabsl(other));
        terms += opd_finite_size(query[i] * other);
        is_lost |= isinf(query[i] * other) && least * fabsl(scale) < opd_accumulator_least(at->work);
    }
    return is_lost || opd_is_beyond_range(at->work, terms);
}

static void fill_scores(head *at, int64_t row)
{
    const opd_definition_work *work = at->work;
    const opd_attention_shape *shape = &at->shape;
    const long double *query =
        work->array[0].value + at->batch * shape->q[0] + at->head * shape->q[1] + row * shape->q[2];
    long double scale = opd_round(work, (long double)opd_attention_scale(shape));
    long double cap = opd_round(work, (long double)shape->softcap);
    at->reach = 0;
    at->is_open = false;
    for (int64_t key = 0; key < shape->keys; key++) {
        opd_sum sum = opd_dot(work, (opd_terms){ query, 1 }, (opd_terms){ key_of(at, key), 1 }, shape->width);
        long double score = opd_round(work, scale * sum.value);
        if (at->scaled != NULL) {
            at->scaled[key] = (double)score;
        }
        long double terms = fabsl(scale) * sum.gauge; /* softcap's slope is at most 1 */
        if (at->mode == OPD_ATTENTION_KEEPS_PRODUCT) {
            keep(at, row, key, score, terms);
        }
        if (cap > 0) {
            score = opd_round(work, cap * opd_round(work, tanhl(opd_round(work, score / cap))));
        }
        long double bias = bias_of(at, row, key);
        at->score[key] = opd_round(work, score + bias);
        long double reach = terms + fabsl(bias);
        if (at->mode == OPD_ATTENTION_KEEPS_CAPPED || at->mode == OPD_ATTENTION_KEEPS_BIASED) {
            bool is_biased = at->mode == OPD_ATTENTION_KEEPS_BIASED;
            keep(at, row, key, is_biased ? at->score[key] : score, (is_biased ? reach : terms) + fabsl(score));
        }
        if (isfinite(bias) && reach > at->reach) {
            at->reach = reach;
        }
        /* Of an excluded key too: what is added to Inf may make a NaN. */
        at->is_open |=
            is_open(at, query, key, scale) || opd_is_beyond_range(work, terms) || opd_is_beyond_range(work, reach);
        at->counts[key] = at->score[key] != -(long double)INFINITY;
    }
}

/* Scores into weights. A NaN score makes them all NaN; so does a largest score of -Inf or Inf. */
static void take_softmax(head *at)
{
    const opd_definition_work *work = at->work;
    int64_t keys = at->shape.keys;
    long double largest = -(long double)INFINITY;
    for (int64_t key = 0; key < keys; key++) {
        largest = at->score[key] > largest || isnan(at->score[key]) ? at->score[key] : largest;
    }
    long double sum = 0;
    for (int64_t key = 0; key < keys; key++) {
        at->score[key] = opd_round(work, expl(opd_round(work, at->score[key] - largest)));
        sum = opd_round(work, sum + at->score[key]);
    }
    for (int64_t key = 0; key < keys; key++) {
        at->score[key] = opd_round(work, at->score[key] / sum);
    }
}

/* Beside the sum its gauge, and what it amounts to while weights are still relative to the largest score so far: up to 1 each. */
static void mix_values(const head *at, opd_array *y, int64_t first)
{
    for (int64_t i = 0; i < at->shape.value_width; i++) {
        opd_sum sum = { 0, 0 };
        long double unweighed = 0;
        for (int64_t key = 0; key < at->shape.keys; key++) {
            long double term = opd_round(at->work, at->score[key] * value_of(at, key)[i]);
            sum.value = opd_round(at->work, sum.value + term);
            sum.gauge += fabsl(term);
            unweighed += at->counts[key] ? opd_finite_size(value_of(at, key)[i]) : 0;
        }
        y->value[first + i] = sum.value;
        if (y->gauge != NULL) {
            /* Where a score or the sum may overflow on the way, anything may come of it. */
            bool is_beyond = at->is_open || opd_is_beyond_range(at->work, unweighed);
            y->gauge[first + i] = is_beyond ? (long double)INFINITY
                                            : sum.gauge * (1 + at->reach) + opd_underflow_gauge(at->work, unweighed);
        }
    }
}

/* Past rows, then those of now: exact copies. */
static void fill_present(head *at, opd_array *out, int64_t width, const long double *row_of(const head *, int64_t))
{
    for (int64_t i = 0; out != NULL && out->value != NULL && i < out->count / (width > 0 ? width : 1); i++) {
        at->batch = i / at->shape.keys / at->shape.kv_heads;
        at->kv_head = i / at->shape.keys % at->shape.kv_heads;
        for (int64_t j = 0; j < width; j++) {
            out->value[i * width + j] = row_of(at, i % at->shape.keys)[j];
        }
    }
}

static opd_array *output(opd_definition_work *work, const char *name)
{
    for (int i = 0; i < work->call->operand_count; i++) {
        if (strcmp(work->call->operands[i].name, name) == 0) {
            return &work->array[i];
        }
    }
    return NULL;
}

/* One row of one head, with what it makes on the way (NULL = not wanted). */
static void do_row(head *at, opd_array *y, int64_t flat, double *scores, double *weights)
{
    const opd_attention_shape *shape = &at->shape;
    int64_t row = flat % shape->rows;
    at->head = flat / shape->rows % shape->heads;
    at->batch = flat / shape->rows / shape->heads;
    at->kv_head = at->head / (shape->heads / shape->kv_heads);
    at->scaled = scores != NULL ? scores + flat * shape->keys : NULL;
    fill_scores(at, row);
    take_softmax(at);
    for (int64_t key = 0; key < shape->keys && at->mode == OPD_ATTENTION_KEEPS_WEIGHTS; key++) {
        keep(at, row, key, at->score[key], fabsl(at->score[key]) * (1 + at->reach));
    }
    for (int64_t key = 0; key < shape->keys && weights != NULL; key++) {
        weights[flat * shape->keys + key] = (double)at->score[key];
    }
    mix_values(at, y, at->batch * shape->y[0] + at->head * shape->y[1] + row * shape->y[2]);
}

opd_status opd_define_attention(opd_definition_work *work)
{
    head at = { .work = work, .mask = input(work, 3), .past_key = input(work, 4), .past_value = input(work, 5) };
    void *score = NULL;
    void *counts = NULL;
    double *scores = NULL;
    double *weights = NULL;
    opd_status status = opd_attention_shape_of(&at.shape, work->call);
    const opd_attention_shape *shape = &at.shape;
    int64_t rows = shape->batch * shape->heads * shape->rows;
    const int64_t dims[4] = { shape->batch, shape->heads, shape->rows, shape->keys };
    if (status != OPD_OK || (status = opd_alloc_array(&score, (size_t)shape->keys + 1, sizeof at.score[0])) != OPD_OK ||
        (status = opd_alloc_array(&counts, (size_t)shape->keys + 1, sizeof at.counts[0])) != OPD_OK ||
        (status = opd_stage_begin(&scores, rows * shape->keys)) != OPD_OK ||
        (status = opd_stage_begin(&weights, rows * shape->keys)) != OPD_OK) {
        goto out;
    }
    at.score = score;
    at.counts = counts;
    at.kept = output(work, "qk_matmul_output");
    at.mode = opd_call_int(work->call, "qk_matmul_output_mode", OPD_ATTENTION_KEEPS_PRODUCT);
    for (int64_t flat = 0; flat < rows; flat++) {
        do_row(&at, output(work, "Y"), flat, scores, weights);
    }
    fill_present(&at, output(work, "present_key"), shape->width, key_of);
    fill_present(&at, output(work, "present_value"), shape->value_width, value_of);
    opd_stage_end("scores", scores, 4, dims);
    opd_stage_end("weights", weights, 4, dims);
    scores = NULL;
    weights = NULL;
out:
    opd_free(score);
    opd_free(counts);
    opd_free(scores);
    opd_free(weights);
    return status;
}
