/* SPDX-License-Identifier: Apache-2.0 */
/* The fused pass over views of many blocks, and what it must leave alone in the program it runs in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fenv.h>
#include <string.h>
#include <xmmintrin.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>
#include <opsdebug/tensor.h>

#define SIDE 700

static uint8_t *buffer; /* SIDE * (SIDE + 3) elements of 16 bytes, and as much again for copies */
static size_t buffer_bytes = (size_t)SIDE * (SIDE + 3) * 16;

static int make_buffer(void **state)
{
    (void)state;
    void *block = NULL;
    if (opd_alloc(&block, 3 * buffer_bytes) != OPD_OK) {
        return -1;
    }
    buffer = block;
    for (size_t i = 0; i < buffer_bytes; i += 8) {
        uint64_t bits = opd_random_u64(1, 2, i);
        memcpy(buffer + i, &bits, 8);
    }
    return 0;
}

static int free_buffer(void **state)
{
    (void)state;
    opd_free(buffer);
    return 0;
}

/* The packed bytes one element at a time, columns outside; the masks are decided by exists(), which the property tests check. */
static size_t pack_slowly(uint8_t *out, const opd_tensor *view)
{
    size_t size = opd_dtype_size(view->dtype);
    size_t used = 0;
    for (int64_t j = 0; j < view->shape[1]; j++) {
        for (int64_t i = 0; i < view->shape[0]; i++) {
            const int64_t index[] = { i, j };
            if (opd_tensor_exists(view, index)) {
                memcpy(out + used, (const uint8_t *)view->data + opd_tensor_offset(view, index), size);
                used += size;
            }
        }
    }
    return used;
}

static void require_scan(const opd_tensor *view)
{
    uint8_t *expected = buffer + buffer_bytes;
    uint8_t *packed = expected + buffer_bytes;
    size_t bytes = pack_slowly(expected, view);
    opd_digest digest[3];
    opd_health health[3];
    int64_t count = (int64_t)(bytes / opd_dtype_size(view->dtype));
    opd_tensor row = { .data = expected, .dtype = view->dtype, .rank = 1, .shape = { count }, .stride = { 1 } };
    memset(packed, 0, bytes);
    opd_tensor_scan(view, packed, &digest[0], &health[0]);
    assert_memory_equal(packed, expected, bytes);
    opd_tensor_scan(view, NULL, &digest[1], &health[1]);
    digest[2] = opd_packed_digest(view, expected);
    opd_tensor_health(&health[2], &row);
    for (int i = 0; i < 2; i++) {
        assert_true(opd_digest_equal(&digest[i], &digest[2]));
        assert_memory_equal(&health[i], &health[2], sizeof(health[2]));
    }
    opd_health quick;
    opd_tensor_nonfinite(&quick, view);
    assert_int_equal(quick.nan, health[2].nan);
    assert_int_equal(quick.first_nan, health[2].first_nan);
    assert_int_equal(quick.first_inf, health[2].first_inf);
    assert_int_equal(quick.count, count);
}

static void large_views_scan_as_element_by_element(void **state)
{
    (void)state;
    for (int d = OPD_F16; d <= OPD_BOOL; d++) {
        for (int64_t rows = 3; rows <= SIDE; rows += 697) { /* short runs, then long ones */
            for (int gap = 0; gap < 2; gap++) {
                opd_tensor view = { .data = buffer,
                                    .dtype = (opd_dtype)d,
                                    .rank = 2,
                                    .shape = { rows, SIDE },
                                    .stride = { 1, rows + 3 * gap } };
                require_scan(&view);
                view.mask = (opd_mask){ .kind = OPD_MASK_LOWER, .unit = (uint8_t)gap };
                require_scan(&view);
                view.mask.kind = OPD_MASK_UPPER;
                require_scan(&view);
            }
        }
        opd_tensor strided = {
            .data = buffer, .dtype = (opd_dtype)d, .rank = 2, .shape = { SIDE / 2, SIDE }, .stride = { 2, SIDE + 3 }
        };
        require_scan(&strided);
    }
}

static void the_programs_floating_point_state_is_untouched(void **state)
{
    (void)state;
    double special[64];
    opd_tensor view = { .data = special, .dtype = OPD_F64, .rank = 1, .shape = { 64 }, .stride = { 1 } };
    opd_fill fill = { .kind = OPD_FILL_SPECIAL, .seed = 3 };
    const unsigned before = _mm_getcsr();
    /* FTZ and DAZ on, rounding up, every exception trapped, no flag raised */
    const unsigned hostile = 0x8040U | 0x4000U;
    uint64_t signalling = UINT64_C(0x7ff0000000000001);
    _mm_setcsr(hostile);
    opd_tensor_fill(&view, &fill);
    memcpy(&special[5], &signalling, sizeof(signalling));
    opd_health health;
    opd_digest digest;
    opd_tensor_scan(&view, NULL, &digest, &health);
    opd_health quick;
    opd_tensor_nonfinite(&quick, &view);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(after, hostile);
    opd_health calm;
    opd_tensor_health(&calm, &view);
    assert_memory_equal(&health, &calm, sizeof(calm));
    assert_true(health.subnormal > 0 && health.nan > 0);
}

static void scanning_allocates_nothing(void **state)
{
    (void)state;
    opd_tensor view = { .data = buffer, .dtype = OPD_F32, .rank = 2, .shape = { 5, SIDE }, .stride = { 2, 11 } };
    opd_digest digest;
    opd_health health;
    opd_fail_allocation_after(0);
    opd_tensor_scan(&view, buffer + buffer_bytes, &digest, &health);
    void *block = NULL;
    assert_int_equal(opd_alloc(&block, 1), OPD_E_NOMEM); /* the fault was still waiting */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_views_scan_as_element_by_element),
        cmocka_unit_test(the_programs_floating_point_state_is_untouched),
        cmocka_unit_test(scanning_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, make_buffer, free_buffer);
}
