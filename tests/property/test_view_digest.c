/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same memory seen through any view has the same digest and health; different content has a different digest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "view_generator.h"

#define CASES   20000
#define CHANGES 6

static opd_digest digest_of(const opd_tensor *view)
{
    return opd_tensor_digest(view);
}

static void swap_dims(opd_tensor *view, int32_t a, int32_t b)
{
    int64_t shape = view->shape[a];
    int64_t stride = view->stride[a];
    view->shape[a] = view->shape[b];
    view->stride[a] = view->stride[b];
    view->shape[b] = shape;
    view->stride[b] = stride;
}

static void flip_dim(opd_tensor *view, int32_t d)
{
    int64_t size = (int64_t)opd_dtype_size(view->dtype);
    if (view->shape[d] > 0) {
        view->data = (uint8_t *)view->data + (view->shape[d] - 1) * view->stride[d] * size;
    }
    view->stride[d] = -view->stride[d];
}

static void insert_dim(opd_tensor *view, int32_t at, int64_t extent, int64_t stride)
{
    for (int32_t d = view->rank; d > at; d--) {
        view->shape[d] = view->shape[d - 1];
        view->stride[d] = view->stride[d - 1];
    }
    view->shape[at] = extent;
    view->stride[at] = stride;
    view->rank++;
}

/* One random step to another view of the same elements. */
static void change_plain(opd_tensor *view, rng *r)
{
    int64_t what = rng_between(r, 0, 3);
    if (what == 2 && view->rank < OPD_MAX_RANK) {
        bool is_repeat = rng_between(r, 0, 1) == 0; /* a broadcast dim, or one of size 1 with any stride */
        insert_dim(view, (int32_t)rng_between(r, 0, view->rank), is_repeat ? 3 : 1,
                   is_repeat ? 0 : rng_between(r, -50, 50));
        return;
    }
    if (view->rank == 0) {
        return;
    }
    int32_t d = (int32_t)rng_between(r, 0, view->rank - 1);
    if (what == 0) {
        swap_dims(view, d, (int32_t)rng_between(r, 0, view->rank - 1));
    } else if (what == 1) {
        flip_dim(view, d);
    } else if (view->rank < OPD_MAX_RANK) {
        for (int64_t f = 2; f < view->shape[d]; f++) {
            if (view->shape[d] % f == 0) {
                int64_t outer = view->stride[d] * f;
                view->shape[d] /= f;
                insert_dim(view, d + 1, f, view->stride[d]);
                view->stride[d] = outer;
                break;
            }
        }
    }
}

static void transpose_masked(opd_tensor *view)
{
    opd_mask *m = &view->mask;
    swap_dims(view, 0, 1);
    if (m->kind == OPD_MASK_BAND) {
        int64_t rows = m->rows;
        int64_t kl = m->kl;
        m->rows = m->cols;
        m->cols = rows;
        m->kl = m->ku;
        m->ku = kl;
        m->by_rows = !m->by_rows;
    } else {
        m->kind = m->kind == OPD_MASK_UPPER ? OPD_MASK_LOWER : OPD_MASK_UPPER;
    }
}

/* Turned by 180 degrees: a square triangle becomes the other one, and so does a packed one. */
static bool turn_masked(opd_tensor *view)
{
    if (view->mask.kind == OPD_MASK_PACKED) {
        flip_dim(view, 0);
        view->mask.upper = !view->mask.upper;
        return true;
    }
    if (view->mask.kind == OPD_MASK_BAND || view->shape[0] != view->shape[1]) {
        return false;
    }
    flip_dim(view, 0);
    flip_dim(view, 1);
    view->mask.kind = view->mask.kind == OPD_MASK_UPPER ? OPD_MASK_LOWER : OPD_MASK_UPPER;
    return true;
}

static void require_same(const opd_tensor *a, const opd_tensor *b, int number)
{
    opd_digest first = digest_of(a);
    opd_digest second = digest_of(b);
    opd_health health[2];
    opd_tensor_health(&health[0], a);
    opd_tensor_health(&health[1], b);
    bool is_same = opd_digest_equal(&first, &second) && memcmp(&health[0], &health[1], sizeof(health[0])) == 0;
    if (!is_same) {
        char text[256];
        opd_tensor_describe(text, sizeof(text), a);
        print_error("case %d: %s\n", number, text);
        opd_tensor_describe(text, sizeof(text), b);
        print_error("     and %s\n", text);
    }
    assert_true(is_same);
}

static void views_of_the_same_memory_agree(void **state)
{
    (void)state;
    rng r = { 20240503 };
    for (int number = 0; number < CASES; number++) {
        sample s;
        sample_plain(&s, &r);
        opd_tensor other = s.view;
        for (int i = 0; i < CHANGES; i++) {
            change_plain(&other, &r);
        }
        require_same(&s.view, &other, number);
        sample_done(&s);
    }
}

/* Windows that slide by their own step: dimensions of equal strides, in whatever order they are given and walked. */
static void overlapping_windows_of_the_same_memory_agree(void **state)
{
    (void)state;
    rng r = { 20240507 };
    for (int number = 0; number < CASES / 4; number++) {
        sample s;
        sample_windows(&s, &r);
        opd_tensor other = s.view;
        for (int i = 0; i < CHANGES; i++) {
            int32_t d = (int32_t)rng_between(&r, 0, other.rank - 1);
            if (rng_between(&r, 0, 1) == 0) {
                swap_dims(&other, d, (int32_t)rng_between(&r, 0, other.rank - 1));
            } else {
                flip_dim(&other, d);
            }
        }
        require_same(&s.view, &other, number);
        sample_done(&s);
    }
}

static void masked_views_of_the_same_memory_agree(void **state)
{
    (void)state;
    rng r = { 20240504 };
    for (int number = 0; number < CASES; number++) {
        sample s;
        sample_masked(&s, &r);
        opd_tensor other = s.view;
        if (other.rank == 2) {
            transpose_masked(&other);
            require_same(&s.view, &other, number);
        }
        if (turn_masked(&other)) {
            require_same(&s.view, &other, number);
        }
        sample_done(&s);
    }
}

/* The digest changes with any bit of an existing element, and with no other bit of the buffer. */
static void check_bits(sample *s, rng *r)
{
    size_t size = opd_dtype_size(s->view.dtype);
    opd_digest before = digest_of(&s->view);
    uint8_t *is_ours = calloc(s->bytes, 1);
    ptrdiff_t origin = (uint8_t *)s->view.data - s->buffer;
    for (size_t i = 0; i < s->count; i++) {
        memset(is_ours + origin + s->offsets[i], 1, size);
    }
    for (int i = 0; i < 4; i++) {
        size_t at = (size_t)rng_between(r, 0, (int64_t)s->bytes - 1);
        uint8_t bit = (uint8_t)(1 << rng_between(r, 0, 7));
        s->buffer[at] ^= bit;
        opd_digest after = digest_of(&s->view);
        s->buffer[at] ^= bit;
        assert_int_equal(opd_digest_equal(&before, &after), !is_ours[at]);
    }
    free(is_ours);
}

static void only_bits_of_elements_count(void **state)
{
    (void)state;
    rng r = { 20240505 };
    for (int number = 0; number < CASES; number++) {
        sample s;
        if (number % 2 == 0) {
            sample_plain(&s, &r);
        } else {
            sample_masked(&s, &r);
        }
        check_bits(&s, &r);
        sample_done(&s);
    }
}

static void scan_agrees_with_its_parts(void **state)
{
    (void)state;
    rng r = { 20240506 };
    for (int number = 0; number < CASES; number++) {
        sample s;
        if (number % 2 == 0) {
            sample_plain(&s, &r);
        } else {
            sample_masked(&s, &r);
        }
        uint64_t bytes = opd_tensor_packed_bytes(&s.view);
        uint8_t *packed = malloc(bytes + 1);
        opd_digest alone = digest_of(&s.view);
        opd_health health;
        opd_tensor_health(&health, &s.view);
        opd_digest digest;
        opd_health scanned;
        opd_tensor_scan(&s.view, packed, &digest, &scanned);
        opd_digest of_packed = opd_packed_digest(&s.view, packed);
        assert_true(opd_digest_equal(&alone, &digest));
        assert_true(opd_digest_equal(&alone, &of_packed));
        assert_memory_equal(&health, &scanned, sizeof(health));
        free(packed);
        sample_done(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_of_the_same_memory_agree),
        cmocka_unit_test(overlapping_windows_of_the_same_memory_agree),
        cmocka_unit_test(masked_views_of_the_same_memory_agree),
        cmocka_unit_test(only_bits_of_elements_count),
        cmocka_unit_test(scan_agrees_with_its_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
