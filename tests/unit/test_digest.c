/* SPDX-License-Identifier: Apache-2.0 */
/* Digests pinned for ever: they are in bundles. The expected values come from digest_vectors.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/tensor.h>

static void require(const opd_tensor *view, const char *expected)
{
    const char *isa[] = { "base", "avx2" };
    for (size_t i = 0; i < OPD_COUNT(isa); i++) {
        if (opd_kernels_choose(isa[i])) {
            char text[OPD_DIGEST_TEXT];
            opd_digest digest = opd_tensor_digest(view);
            opd_digest_print(text, &digest);
            assert_string_equal(text, expected);
        }
    }
    (void)opd_kernels_choose(NULL);
}

static float f32_ramp[64];
static double f64_ramp[64];

static int make_ramps(void **state)
{
    (void)state;
    for (int i = 0; i < 64; i++) {
        f32_ramp[i] = (float)i;
        f64_ramp[i] = i;
    }
    return 0;
}

static void plain_views_have_the_pinned_digests(void **state)
{
    (void)state;
    double number = 2.5;
    require(&(opd_tensor){ .data = &number, .dtype = OPD_F64 }, "cfd0ce409af94c2ea9902240da035744");
    opd_tensor view = { .data = f32_ramp, .dtype = OPD_F32, .rank = 3, .shape = { 4, 0, 2 }, .stride = { 2, 2, 1 } };
    require(&view, "3ed4c2129df5d9aec652ac47a112b27b");
    view = (opd_tensor){ .data = f32_ramp + 1, .dtype = OPD_F32, .rank = 2, .shape = { 2, 3 }, .stride = { 3, 1 } };
    require(&view, "6220a54973d5456f0d78268a97493976");
    view = (opd_tensor){ .data = f32_ramp, .dtype = OPD_F32, .rank = 2, .shape = { 2, 3 }, .stride = { 1, 4 } };
    require(&view, "d9bcb67aea9b1c21c3a50836934f9009");
}

static void masked_views_have_the_pinned_digests(void **state)
{
    (void)state;
    opd_tensor view = { .data = f64_ramp, .dtype = OPD_F64, .rank = 2, .shape = { 3, 3 }, .stride = { 1, 3 } };
    view.mask = (opd_mask){ .kind = OPD_MASK_LOWER };
    require(&view, "708df3fb4218b9bf975ab8a86f25c7e1");
    view.mask.unit = 1;
    require(&view, "122b1696ea6452bd2ac59672aa7f4e63");
    view = (opd_tensor){ .data = f64_ramp, .dtype = OPD_F64, .rank = 2, .shape = { 3, 4 }, .stride = { 1, 3 } };
    view.mask = (opd_mask){ .kind = OPD_MASK_BAND, .kl = 1, .ku = 1, .rows = 4, .cols = 4 };
    require(&view, "4bdf5477976e428d2423be5bf7d87a05");
    view = (opd_tensor){ .data = f64_ramp, .dtype = OPD_F64, .rank = 2, .shape = { 2, 4 }, .stride = { 1, 2 } };
    view.mask = (opd_mask){ .kind = OPD_MASK_BAND, .unit = 1, .kl = 0, .ku = 1, .rows = 4, .cols = 4 };
    require(&view, "6dad0a27456f59dfa150c18f394673c4");
    view = (opd_tensor){ .data = f32_ramp, .dtype = OPD_F32, .rank = 1, .shape = { 6 }, .stride = { 1 } };
    view.mask = (opd_mask){ .kind = OPD_MASK_PACKED, .unit = 1, .upper = 1, .rows = 3 };
    require(&view, "9672e6dc9031d2022dfd67c2b912939b");
    view.mask.upper = 0;
    require(&view, "f76a76931cb427a52607a0c9b2c355ec");
}

static void long_views_have_the_pinned_digest(void **state)
{
    (void)state;
    static uint8_t bytes[1000001];
    for (size_t i = 0; i < 1000000; i++) {
        bytes[i + 1] = (uint8_t)(i * 7);
    }
    require(&(opd_tensor){ .data = bytes + 1, .dtype = OPD_U8, .rank = 1, .shape = { 1000000 }, .stride = { 1 } },
            "01fa0064b7817628e8d365b1581bd096");
}

static void dtype_and_shape_count(void **state)
{
    (void)state;
    opd_tensor view = { .data = f32_ramp, .dtype = OPD_F32, .rank = 1, .shape = { 8 }, .stride = { 1 } };
    opd_tensor other = view;
    other.dtype = OPD_I32;
    opd_digest a = opd_tensor_digest(&view);
    opd_digest b = opd_tensor_digest(&other);
    assert_false(opd_digest_equal(&a, &b));
    float gap[10] = { 0, 1, 2, 3, -1, -1, 4, 5, 6, 7 }; /* the same elements, but not one after the other */
    other = (opd_tensor){ .data = gap, .dtype = OPD_F32, .rank = 2, .shape = { 2, 4 }, .stride = { 6, 1 } };
    b = opd_tensor_digest(&other);
    assert_false(opd_digest_equal(&a, &b));
    opd_digest none = { { 0 } };
    assert_true(opd_digest_is_none(&none));
    assert_false(opd_digest_is_none(&a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_views_have_the_pinned_digests),
        cmocka_unit_test(masked_views_have_the_pinned_digests),
        cmocka_unit_test(long_views_have_the_pinned_digest),
        cmocka_unit_test(dtype_and_shape_count),
    };
    return cmocka_run_group_tests(tests, make_ramps, NULL);
}
