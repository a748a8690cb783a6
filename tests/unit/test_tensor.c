/* SPDX-License-Identifier: Apache-2.0 */
/* Making and checking views, and their text. Walk and counts: tests/property/test_view_walk.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/tensor.h>

#define HUGE_NUMBER (INT64_C(1) << 62)

static void contiguous_views_are_row_major(void **state)
{
    (void)state;
    opd_tensor view;
    float data[24];
    const int64_t shape[] = { 2, 3, 4 };
    assert_int_equal(opd_tensor_contiguous(&view, OPD_F32, 3, shape, data), OPD_OK);
    assert_int_equal(view.stride[0], 12);
    assert_int_equal(view.stride[1], 4);
    assert_int_equal(view.stride[2], 1);
    assert_ptr_equal(view.storage, data);
    assert_int_equal(view.storage_bytes, sizeof(data));
    assert_int_equal(opd_tensor_count(&view), 24);
    const int64_t empty[] = { HUGE_NUMBER, 0, HUGE_NUMBER };
    assert_int_equal(opd_tensor_contiguous(&view, OPD_F64, 0, NULL, data), OPD_OK);
    assert_int_equal(opd_tensor_count(&view), 1);
    assert_int_equal(view.storage_bytes, 8);
    opd_status status = opd_tensor_contiguous(&view, OPD_F64, 3, empty, NULL);
    assert_true(status == OPD_OK || status == OPD_E_INVALID);
}

static void require_invalid(const opd_tensor *view, const char *text)
{
    opd_error_clear();
    assert_int_equal(opd_tensor_check(view), OPD_E_INVALID);
    if (strstr(opd_error_text(), text) == NULL) {
        print_error("'%s' does not speak of '%s'\n", opd_error_text(), text);
    }
    assert_non_null(strstr(opd_error_text(), text));
}

static void hostile_views_are_refused(void **state)
{
    (void)state;
    const opd_tensor good = { .dtype = OPD_F64, .rank = 2, .shape = { 3, 4 }, .stride = { 4, 1 } };
    assert_int_equal(opd_tensor_check(&good), OPD_OK);
    opd_tensor view = good;
    view.dtype = (opd_dtype)16;
    require_invalid(&view, "dtype");
    view = good;
    view.rank = 9;
    require_invalid(&view, "rank 9");
    view.rank = -1;
    require_invalid(&view, "rank -1");
    view = good;
    view.shape[1] = -4;
    require_invalid(&view, "negative");
    view = good;
    view.shape[0] = HUGE_NUMBER;
    require_invalid(&view, "64 bits");
    view = good;
    view.stride[0] = HUGE_NUMBER;
    require_invalid(&view, "span");
    view.stride[0] = INT64_MIN;
    require_invalid(&view, "span");
    view.stride[0] = -HUGE_NUMBER / 32; /* each end fits, the whole does not */
    view.stride[1] = HUGE_NUMBER / 16;
    view.shape[0] = 17;
    view.shape[1] = 16;
    require_invalid(&view, "64 bits");
    view = good;
    view.shape[0] = 0;
    view.shape[1] = INT64_MAX;
    view.stride[0] = INT64_MIN;
    assert_int_equal(opd_tensor_check(&view), OPD_OK); /* nothing in it */
    assert_int_equal(opd_tensor_count(&view), 0);
}

static void hostile_masks_are_refused(void **state)
{
    (void)state;
    const opd_tensor good = { .dtype = OPD_F32, .rank = 2, .shape = { 3, 4 }, .stride = { 4, 1 } };
    opd_tensor view = good;
    view.mask.kind = 5;
    require_invalid(&view, "mask kind 5");
    view.mask.kind = OPD_MASK_UPPER;
    view.rank = 1;
    require_invalid(&view, "rank 2");
    view = good;
    view.mask = (opd_mask){ .kind = OPD_MASK_BAND, .kl = -1, .ku = 1, .rows = 3, .cols = 3 };
    require_invalid(&view, "band");
    view.mask.kl = INT64_MAX;
    require_invalid(&view, "band");
    view.mask.kl = 1;
    assert_int_equal(opd_tensor_check(&view), OPD_OK);
    view = (opd_tensor){ .dtype = OPD_F32, .rank = 1, .shape = { 6 }, .stride = { 1 } };
    view.mask = (opd_mask){ .kind = OPD_MASK_PACKED, .rows = 3 };
    assert_int_equal(opd_tensor_check(&view), OPD_OK);
    view.mask.rows = 4;
    require_invalid(&view, "packed");
    view.mask.rows = INT64_MAX;
    require_invalid(&view, "packed");
    view.mask.rows = INT64_MIN;
    require_invalid(&view, "packed");
    view = (opd_tensor){ .dtype = OPD_F32, .rank = 2, .shape = { 0, INT64_MAX }, .mask = { .kind = OPD_MASK_LOWER } };
    require_invalid(&view, "2^60");
}

static void require_text(const opd_tensor *view, const char *expected)
{
    char text[200];
    opd_tensor_describe(text, sizeof(text), view);
    assert_string_equal(text, expected);
    for (size_t size = 0; size <= strlen(expected) + 1; size++) {
        memset(text, 'x', sizeof(text));
        opd_tensor_describe(text, size, view);
        assert_int_equal(text[size], 'x');
        if (size > 0) {
            assert_int_equal(strlen(text), size - 1);
            assert_memory_equal(text, expected, size - 1);
        }
    }
}

static void views_are_described(void **state)
{
    (void)state;
    require_text(&(opd_tensor){ .dtype = OPD_F64 }, "f64[]");
    opd_tensor view = { .dtype = OPD_F32, .rank = 2, .shape = { 128, 64 }, .stride = { 64, 1 } };
    require_text(&view, "f32[128, 64]");
    view.stride[0] = 1;
    view.stride[1] = 128;
    require_text(&view, "f32[128, 64] strides (1, 128)");
    view.mask = (opd_mask){ .kind = OPD_MASK_UPPER, .unit = 1 };
    require_text(&view, "f32[128, 64] strides (1, 128) upper unit");
    view.shape[0] = 1;
    view.stride[1] = 1;
    view.mask.kind = OPD_MASK_LOWER;
    view.mask.unit = 0;
    require_text(&view, "f32[1, 64] lower");
    view = (opd_tensor){ .dtype = OPD_C64, .rank = 2, .shape = { 4, 9 }, .stride = { 9, 1 } };
    view.mask = (opd_mask){ .kind = OPD_MASK_BAND, .kl = 1, .ku = 2, .rows = 8, .cols = 9 };
    require_text(&view, "c64[4, 9] band kl=1 ku=2 of 8x9");
    view.mask.by_rows = 1;
    require_text(&view, "c64[4, 9] band kl=1 ku=2 of 8x9 by rows");
    view = (opd_tensor){ .dtype = OPD_BF16, .rank = 1, .shape = { 6 }, .stride = { -1 } };
    view.mask = (opd_mask){ .kind = OPD_MASK_PACKED, .upper = 1, .rows = 3, .unit = 1 };
    require_text(&view, "bf16[6] strides (-1) packed upper n=3 unit");
    view = (opd_tensor){
        .dtype = (opd_dtype)99, .rank = 2, .shape = { INT64_MAX, INT64_MAX }, .stride = { INT64_MAX, 1 }
    };
    require_text(&view, "?[9223372036854775807, 9223372036854775807]");
}

static void dlpack_carries_views_both_ways(void **state)
{
    (void)state;
    for (int d = OPD_F16; d < OPD_BOOL; d++) {
        uint8_t data[16 * 12];
        opd_tensor view = { .data = data, .dtype = (opd_dtype)d, .rank = 2, .shape = { 2, 3 }, .stride = { 1, -4 } };
        DLTensor tensor;
        opd_tensor back;
        assert_int_equal(opd_tensor_to_dlpack(&tensor, &view), OPD_OK);
        assert_ptr_equal(tensor.shape, view.shape);
        assert_int_equal(tensor.dtype.bits, 8 * opd_dtype_size((opd_dtype)d));
        assert_int_equal(tensor.dtype.lanes, 1);
        tensor.byte_offset = 16;
        assert_int_equal(opd_tensor_from_dlpack(&back, &tensor), OPD_OK);
        assert_int_equal(back.dtype, d);
        assert_ptr_equal(back.data, data + 16);
        assert_int_equal(back.shape[1], 3);
        assert_int_equal(back.stride[1], -4);
        tensor.strides = NULL;
        assert_int_equal(opd_tensor_from_dlpack(&back, &tensor), OPD_OK);
        assert_int_equal(back.stride[0], 3);
    }
}

/* kDLFloat 2, kDLInt 0, kDLUInt 1, kDLBfloat 4, kDLComplex 5 */
static void dlpack_codes_are_the_standard_ones(void **state)
{
    (void)state;
    static const struct {
        opd_dtype dtype;
        int code;
    } codes[] = { { OPD_F16, 2 },  { OPD_BF16, 4 }, { OPD_F64, 2 }, { OPD_C64, 5 },
                  { OPD_C128, 5 }, { OPD_I8, 0 },   { OPD_U64, 1 } };
    for (size_t i = 0; i < OPD_COUNT(codes); i++) {
        DLTensor tensor;
        assert_int_equal(opd_tensor_to_dlpack(&tensor, &(opd_tensor){ .dtype = codes[i].dtype }), OPD_OK);
        assert_int_equal(tensor.dtype.code, codes[i].code);
    }
}

static void what_dlpack_cannot_say_is_refused(void **state)
{
    (void)state;
    DLTensor tensor;
    opd_tensor view = { .dtype = OPD_BOOL };
    assert_int_equal(opd_tensor_to_dlpack(&tensor, &view), OPD_E_UNSUPPORTED);
    view = (opd_tensor){ .dtype = OPD_F32, .rank = 2, .shape = { 1, 1 }, .mask = { .kind = OPD_MASK_UPPER } };
    assert_int_equal(opd_tensor_to_dlpack(&tensor, &view), OPD_E_UNSUPPORTED);
    view.mask.kind = OPD_MASK_NONE;
    assert_int_equal(opd_tensor_to_dlpack(&tensor, &view), OPD_OK);
    const DLTensor good = tensor;
    tensor.dtype.lanes = 4;
    assert_int_equal(opd_tensor_from_dlpack(&view, &tensor), OPD_E_UNSUPPORTED);
    tensor = good;
    tensor.dtype.bits = 4;
    assert_int_equal(opd_tensor_from_dlpack(&view, &tensor), OPD_E_UNSUPPORTED);
    tensor = good;
    tensor.device.device_type = kDLCUDA;
    assert_int_equal(opd_tensor_from_dlpack(&view, &tensor), OPD_E_UNSUPPORTED);
    tensor = good;
    tensor.ndim = 9;
    assert_int_equal(opd_tensor_from_dlpack(&view, &tensor), OPD_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous_views_are_row_major),    cmocka_unit_test(hostile_views_are_refused),
        cmocka_unit_test(hostile_masks_are_refused),         cmocka_unit_test(views_are_described),
        cmocka_unit_test(dlpack_carries_views_both_ways),    cmocka_unit_test(dlpack_codes_are_the_standard_ones),
        cmocka_unit_test(what_dlpack_cannot_say_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
