/* SPDX-License-Identifier: Apache-2.0 */
/* Health against numpy: every dtype, every instruction set, many lengths and kinds of content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>
#include <opsdebug/tensor.h>

#include "numpy_process.h"

#define CONTENTS 5

static const int64_t lengths[] = { 0, 1, 7, 8, 9, 511, 1024, 1025, 5003, 20011 };

typedef struct blob {
    opd_tensor view;
    opd_health expected;
    double mean_size; /* mean |x|, to judge the mean's rounding by */
} blob;

static blob *blobs;
static size_t blob_count;

/* Content 0: ordinary; 1: one NaN and one Inf near the end; 2: zeros among them; 3: every special value; 4: any bits. */
static void fill_blob(const opd_tensor *view, int content)
{
    opd_fill fill = { .kind = OPD_FILL_NORMAL, .a = 3.0, .b = 50.0, .seed = 5, .stream = (uint64_t)content };
    size_t size = opd_dtype_size(view->dtype);
    uint8_t *data = view->data;
    int64_t n = view->shape[0];
    fill.kind = content == 3 ? OPD_FILL_SPECIAL : OPD_FILL_NORMAL;
    opd_tensor_fill(view, &fill);
    if (content == 1 && n > 4) {
        opd_element_store(view->dtype, data + (size_t)(n - 2) * size, (double)NAN, 1.0);
        opd_element_store(view->dtype, data + (size_t)(n - 4) * size, 2.0, -(double)INFINITY);
        opd_element_store(view->dtype, data + (size_t)(n - 3) * size, (double)INFINITY, (double)NAN);
    }
    for (int64_t i = 0; i < n; i++) {
        if (content == 2 && i % 3 == 0) {
            memset(data + (size_t)i * size, 0, i % 2 == 0 ? size : (size + 1) / 2);
        } else if (content == 4) {
            uint64_t pair[2];
            opd_random_pair(pair, 9, (uint64_t)view->dtype, (uint64_t)i);
            memcpy(data + (size_t)i * size, pair, size);
        }
    }
}

static bool read_answer(FILE *answers, blob *b)
{
    opd_health *h = &b->expected;
    char number[4][40];
    int got = fscanf(answers,
                     "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                     " %39s %39s %39s %39s %" SCNd64 " %" SCNd64,
                     &h->count, &h->nan, &h->pos_inf, &h->neg_inf, &h->subnormal, &h->zero, number[0], number[1],
                     number[2], number[3], &h->first_nan, &h->first_inf);
    h->min = strtod(number[0], NULL);
    h->max = strtod(number[1], NULL);
    h->mean = strtod(number[2], NULL);
    b->mean_size = strtod(number[3], NULL);
    return got == 12;
}

static int make_blobs(void **state)
{
    (void)state;
    char data_path[64];
    char line_path[64];
    FILE *data = numpy_file(data_path);
    FILE *lines = numpy_file(line_path);
    void *block = NULL;
    if (data == NULL || lines == NULL || opd_alloc_array(&block, 1000, sizeof(blob)) != OPD_OK) {
        return -1;
    }
    blobs = block;
    for (int d = OPD_F16; d <= OPD_BOOL; d++) {
        for (size_t l = 0; l < OPD_COUNT(lengths); l++) {
            for (int content = 0; content < CONTENTS; content++) {
                void *bytes = NULL;
                blob *b = &blobs[blob_count++];
                size_t size = (size_t)lengths[l] * opd_dtype_size((opd_dtype)d);
                if (opd_alloc(&bytes, size) != OPD_OK ||
                    opd_tensor_contiguous(&b->view, (opd_dtype)d, 1, &lengths[l], bytes) != OPD_OK) {
                    return -1;
                }
                fill_blob(&b->view, content);
                (void)fprintf(lines, "%s %ld %" PRId64 "\n", opd_dtype_name((opd_dtype)d), ftell(data), lengths[l]);
                (void)fwrite(bytes, 1, size, data);
            }
        }
    }
    (void)fclose(data);
    (void)fclose(lines);
    char arguments[128];
    (void)snprintf(arguments, sizeof(arguments), "health %s", data_path);
    FILE *answers = numpy_run(arguments, line_path);
    bool is_read = answers != NULL;
    for (size_t i = 0; is_read && i < blob_count; i++) {
        is_read = read_answer(answers, &blobs[i]);
    }
    bool is_done = answers != NULL && pclose(answers) == 0;
    (void)unlink(data_path);
    (void)unlink(line_path);
    return is_read && is_done ? 0 : -1;
}

static int free_blobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < blob_count; i++) {
        opd_free(blobs[i].view.storage);
    }
    opd_free(blobs);
    return 0;
}

static void require_counts(const opd_health *got, const opd_health *expected)
{
    assert_int_equal(got->count, expected->count);
    assert_int_equal(got->nan, expected->nan);
    assert_int_equal(got->pos_inf, expected->pos_inf);
    assert_int_equal(got->neg_inf, expected->neg_inf);
    assert_int_equal(got->first_nan, expected->first_nan);
    assert_int_equal(got->first_inf, expected->first_inf);
}

static void require_blob(const blob *b)
{
    opd_health health;
    opd_tensor_health(&health, &b->view);
    require_counts(&health, &b->expected);
    assert_int_equal(health.subnormal, b->expected.subnormal);
    assert_int_equal(health.zero, b->expected.zero);
    assert_true(health.min == b->expected.min);
    assert_true(health.max == b->expected.max);
    if (isfinite(b->mean_size)) { /* else even numpy's sum overflows */
        assert_true(fabs(health.mean - b->expected.mean) <= 1e-13 * b->mean_size);
    }
    opd_health quick;
    opd_tensor_nonfinite(&quick, &b->view);
    require_counts(&quick, &b->expected);
    assert_true(quick.min == 0 && quick.max == 0 && quick.mean == 0 && quick.zero == 0 && quick.subnormal == 0);
}

static void require_all(const char *isa)
{
    if (!opd_kernels_choose(isa)) {
        skip();
    }
    for (size_t i = 0; i < blob_count; i++) {
        require_blob(&blobs[i]);
    }
    (void)opd_kernels_choose(NULL);
}

static void base_kernels_agree_with_numpy(void **state)
{
    (void)state;
    require_all("base");
}

static void avx2_kernels_agree_with_numpy(void **state)
{
    (void)state;
    require_all("avx2");
}

static void instruction_sets_give_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < blob_count; i++) {
        opd_health health[2];
        opd_digest digest[2];
        const char *isa[] = { "base", NULL };
        for (size_t k = 0; k < 2; k++) {
            assert_true(opd_kernels_choose(isa[k]));
            opd_tensor_scan(&blobs[i].view, NULL, &digest[k], &health[k]);
        }
        assert_memory_equal(&health[0], &health[1], sizeof(health[0]));
        assert_true(opd_digest_equal(&digest[0], &digest[1]));
    }
}

int main(void)
{
    if (!numpy_is_here()) {
        (void)fprintf(stderr, "skipped: /usr/bin/python3 has no numpy (apt install python3-numpy)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_kernels_agree_with_numpy),
        cmocka_unit_test(avx2_kernels_agree_with_numpy),
        cmocka_unit_test(instruction_sets_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, make_blobs, free_blobs);
}
