/* SPDX-License-Identifier: Apache-2.0 */
/* Canaries: recognisable, in step with the elements, and still readable after arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "canary.h"

static void payload_survives_arithmetic(void **state)
{
    double wide[16] = { 0 };
    float narrow[16] = { 0 };
    (void)state;
    opd_canary_fill((uint8_t *)wide, (uint8_t *)(wide + 16), (uintptr_t)wide, OPD_C128, 5, false);
    opd_canary_fill((uint8_t *)narrow, (uint8_t *)(narrow + 16), (uintptr_t)narrow, OPD_F32, 3, true);
    for (int i = 0; i < 16; i++) {
        volatile double product = wide[i] * 0.5 + 1;
        volatile float sum = narrow[i] + 2.0F;
        double copy = product;
        float small = sum;
        assert_true(isnan(wide[i]) && isnan(narrow[i]));
        opd_canary found = opd_canary_read(OPD_F64, &copy);
        assert_true(found.is_canary && !found.is_content && found.operand == 5);
        found = opd_canary_read(OPD_F32, &small);
        assert_true(found.is_canary && found.is_content && found.operand == 3);
    }
    assert_memory_not_equal(&wide[0], &wide[1], 8); /* a copy of one is not another */
}

/* Each operand and the workspace by its own number; the layout as the head of canary.c has it. */
static void every_operand_has_its_own_number(void **state)
{
    (void)state;
    for (int operand = 0; operand <= OPD_CANARY_WORKSPACE; operand++) {
        uint64_t wide = 0;
        uint32_t narrow = 0;
        bool is_content = operand % 2 == 0;
        opd_canary_fill((uint8_t *)&wide, (uint8_t *)(&wide + 1), (uintptr_t)&wide, OPD_F64, operand, is_content);
        opd_canary_fill((uint8_t *)&narrow, (uint8_t *)(&narrow + 1), (uintptr_t)&narrow, OPD_F32, operand, is_content);
        assert_int_equal(wide >> 24,
                         UINT64_C(0x7ff8) << 24 | UINT64_C(0x5cade) << 7 | (is_content ? 64 : 0) | (uint64_t)operand);
        assert_int_equal(narrow >> 8, 0x7fc00000U >> 8 | 0x5aU << 7 | (is_content ? 64U : 0U) | (uint32_t)operand);
        opd_canary found = opd_canary_read(OPD_F64, &wide);
        assert_true(found.is_canary && found.is_content == is_content);
        assert_int_equal(found.operand, operand);
        found = opd_canary_read(OPD_F32, &narrow);
        assert_true(found.is_canary && found.is_content == is_content);
        assert_int_equal(found.operand, operand);
    }
}

static void ordinary_values_are_no_canaries(void **state)
{
    static const double wide[] = { 0, -1.5, INFINITY, (double)NAN, -(double)NAN, 1e-310 };
    static const float narrow[] = { 0, -1.5F, INFINITY, NAN, 3e38F, 1e-40F };
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        assert_false(opd_canary_read(OPD_F64, &wide[i]).is_canary);
        assert_false(opd_canary_read(OPD_F32, &narrow[i]).is_canary);
    }
}

static void words_keep_step_with_misaligned_elements(void **state)
{
    _Alignas(8) uint8_t bytes[64] = { 0 };
    double value;
    (void)state;
    /* Elements at 4 modulo 8, the area larger on either side. */
    opd_canary_fill(bytes + 1, bytes + 63, (uintptr_t)(bytes + 12), OPD_F64, 1, false);
    for (size_t at = 4; at + 8 <= 63; at += 8) {
        memcpy(&value, bytes + at, 8);
        assert_true(isnan(value));
        assert_true(opd_canary_read(OPD_F64, &value).is_canary);
    }
}

static void integers_get_varied_bytes(void **state)
{
    uint8_t bytes[256] = { 0 };
    int seen = 0;
    uint8_t is_seen[256] = { 0 };
    (void)state;
    opd_canary_fill(bytes, bytes + 256, (uintptr_t)bytes, OPD_I32, 0, false);
    for (int i = 0; i < 256; i++) {
        seen += is_seen[bytes[i]] == 0;
        is_seen[bytes[i]] = 1;
    }
    assert_true(seen > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payload_survives_arithmetic),     cmocka_unit_test(every_operand_has_its_own_number),
        cmocka_unit_test(ordinary_values_are_no_canaries), cmocka_unit_test(words_keep_step_with_misaligned_elements),
        cmocka_unit_test(integers_get_varied_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
