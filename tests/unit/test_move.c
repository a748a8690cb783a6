/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operator that moves elements, every variant, on random shapes, attributes and dtypes, against move_numpy.py, which knows the operators
 * by itself; and what their contracts refuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <opsdebug/memory.h>

#include "numpy_process.h"
#include "trial_file.h"
#include "wish_builder.h"

enum { CASES = 120 };

static const char *const dtypes[] = { "f32", "f64", "f16", "bf16", "i8",  "i16", "i32",
                                      "i64", "u8",  "u16", "u32",  "u64", "bool" };

/* The first input: at least so many dimensions, of which few are 0 and many 1; a case in sixteen is large enough for tiles and threads. */
static void say_data(wish_builder *at, int least, int most)
{
    static const int64_t large[] = { 70, 41, 37 };
    bool is_large = pick(at, 0, 15) == 0 && most >= 3;
    at->rank = is_large ? 3 : (int)pick(at, least, most);
    for (int d = 0; d < at->rank; d++) {
        int64_t kind = pick(at, 0, 19);
        at->shape[d] = is_large ? large[d] : kind == 0 ? 0 : kind < 5 ? 1 : pick(at, 2, 6);
    }
    say(at->shapes, "%s", dtypes[pick(at, 0, (int64_t)OPD_COUNT(dtypes) - 1)]);
    say_list(at->shapes, at->rank, at->shape);
}

/* count axes in random order, some from the end. */
static void say_axes(wish_builder *at, char text[256], int count, bool may_be_negative)
{
    int64_t order[OPD_MAX_RANK];
    for (int d = 0; d < at->rank; d++) {
        int other = (int)pick(at, 0, d);
        order[d] = order[other];
        order[other] = d;
    }
    for (int d = 0; d < count && may_be_negative; d++) {
        order[d] -= pick(at, 0, 1) * at->rank;
    }
    say_list(text, count, order);
}

static void build_transpose(wish_builder *at)
{
    say_data(at, 0, 6);
    if (pick(at, 0, 3) > 0) {
        say(at->attributes, "perm=");
        say_axes(at, at->attributes, at->rank, false);
    }
}

static void build_reshape(wish_builder *at)
{
    say_data(at, 0, 5);
    int64_t count = 1;
    for (int d = 0; d < at->rank; d++) {
        count *= at->shape[d];
    }
    say(at->shapes, ";[%d]", (int)pick(at, count == 1 ? 0 : 1, 5));
    say(at->attributes, "allowzero=%d", (int)pick(at, 0, 1));
}

static void build_concat(wish_builder *at)
{
    say_data(at, 1, 5);
    char dtype[8] = "";
    memcpy(dtype, at->shapes, strcspn(at->shapes, "["));
    int axis = (int)pick(at, 0, at->rank - 1);
    int64_t inputs = pick(at, 1, 11);
    for (int64_t i = 1; i < inputs; i++) {
        at->shape[axis] = pick(at, 0, 4);
        say(at->shapes, ";%s", dtype);
        say_list(at->shapes, at->rank, at->shape);
    }
    say(at->attributes, "axis=%d", axis - (int)pick(at, 0, 1) * at->rank);
}

static void build_slice(wish_builder *at)
{
    say_data(at, 0, 5);
    const char *type = pick(at, 0, 1) != 0 ? "i32" : "i64";
    int count = (int)pick(at, 0, at->rank);
    say(at->shapes, ";%s[%d];%s[%d]", type, count, type, count);
    bool has_axes = pick(at, 0, 2) > 0;
    bool has_steps = pick(at, 0, 2) > 0;
    if (has_axes) {
        say(at->shapes, ";%s[%d]", type, count);
    }
    if (has_steps) {
        say(at->shapes, "%s;%s[%d]", has_axes ? "" : ";-", type, count);
    }
}

static void build_split(wish_builder *at)
{
    say_data(at, 1, 5);
    say(at->attributes, "axis=%d", (int)pick(at, -at->rank, at->rank - 1));
    if (pick(at, 0, 1) != 0) {
        say(at->shapes, ";[%d]", (int)pick(at, 1, 6));
    } else if (pick(at, 0, 3) > 0) {
        say(at->attributes, ",num_outputs=%d", (int)pick(at, 1, 9));
    }
}

static void build_pad(wish_builder *at)
{
    static const char *const modes[] = { "constant", "reflect", "edge", "wrap" };
    say_data(at, 0, 5);
    say(at->attributes, "mode=%s", modes[pick(at, 0, 3)]);
    bool has_axes = pick(at, 0, 1) != 0;
    int count = has_axes ? (int)pick(at, 0, at->rank) : at->rank;
    say(at->shapes, ";[%d]", 2 * count);
    bool has_value = pick(at, 0, 1) != 0;
    if (has_value || has_axes) {
        char dtype[8] = "";
        memcpy(dtype, at->shapes, strcspn(at->shapes, "["));
        say(at->shapes, ";%s", has_value ? dtype : "-");
        say(at->shapes, "%s", has_value ? "[]" : "");
    }
    if (has_axes) {
        say(at->shapes, ";%s[%d]", pick(at, 0, 1) != 0 ? "i32" : "i64", count);
    }
}

static void build_gather(wish_builder *at)
{
    say_data(at, 1, 4);
    int axis = (int)pick(at, 0, at->rank - 1);
    int64_t sizes[3];
    int rank = (int)pick(at, 0, 3);
    for (int d = 0; d < rank; d++) {
        sizes[d] = pick(at, 0, 4);
    }
    if (at->shape[axis] == 0) { /* nothing can be picked from nothing */
        rank = 1;
        sizes[0] = 0;
    }
    say(at->shapes, ";%s", pick(at, 0, 1) != 0 ? "i32" : "i64");
    say_list(at->shapes, rank, sizes);
    say(at->attributes, "axis=%d", axis - (int)pick(at, 0, 1) * at->rank);
}

static void build_expand(wish_builder *at)
{
    say_data(at, 0, 5);
    say(at->shapes, ";[%d]", (int)pick(at, 0, 6));
}

static void build_resize(wish_builder *at)
{
    static const char *const modes[] = { "nearest", "linear", "cubic" };
    static const char *const coordinates[] = { "half_pixel",          "half_pixel_symmetric", "pytorch_half_pixel",
                                               "align_corners",       "asymmetric",           "tf_crop_and_resize",
                                               "tf_half_pixel_for_nn" };
    static const char *const nearests[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil" };
    static const char *const policies[] = { "stretch", "stretch", "not_larger", "not_smaller" };
    static const char *const roi_types[] = { "f32", "f64", "f16" };
    int64_t mode = pick(at, 0, 2);
    int64_t coordinate = pick(at, 0, (int64_t)OPD_COUNT(coordinates) - 1);
    at->rank = (int)pick(at, 1, 4);
    for (int d = 0; d < at->rank; d++) {
        at->shape[d] = pick(at, 1, at->rank > 2 ? 5 : 9);
    }
    say(at->shapes, "%s", dtypes[pick(at, 0, mode == 0 ? (int64_t)OPD_COUNT(dtypes) - 1 : 3)]);
    say_list(at->shapes, at->rank, at->shape);
    say(at->attributes,
        "mode=%s,coordinate_transformation_mode=%s,nearest_mode=%s,exclude_outside=%d,extrapolation_value=%d",
        modes[mode], coordinates[coordinate], nearests[pick(at, 0, 3)], (int)pick(at, 0, 1), (int)pick(at, 0, 1));
    int count = at->rank;
    if (pick(at, 0, 2) == 0) {
        count = (int)pick(at, 1, at->rank);
        say(at->attributes, ",axes=");
        say_axes(at, at->attributes, count, true);
    }
    if (coordinate == 5) {
        say(at->shapes, ";%s[%d]", roi_types[pick(at, 0, 2)], 2 * count);
    } else {
        say(at->shapes, pick(at, 0, 1) != 0 ? ";[0]" : ";-");
    }
    if (pick(at, 0, 1) != 0) {
        say(at->shapes, ";[%d]", count);
    } else {
        say(at->shapes, ";%s;[%d]", pick(at, 0, 1) != 0 ? "-" : "[0]", count);
        say(at->attributes, ",keep_aspect_ratio_policy=%s", policies[pick(at, 0, 3)]);
    }
}

static const struct operator_builder {
    const char *name;
    void (*build)(wish_builder *at);
    bool takes_strides; /* its own variant does */
} operators[] = {
    { "Transpose", build_transpose, true }, { "Reshape", build_reshape, false }, { "Concat", build_concat, true },
    { "Slice", build_slice, true },         { "Split", build_split, true },      { "Pad", build_pad, false },
    { "Gather", build_gather, false },      { "Expand", build_expand, true },    { "Resize", build_resize, false },
};

static void random_calls_agree_with_numpy(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(operators); i++) {
        const opd_op *op = opd_op_find("ai.onnx", operators[i].name);
        char path[64];
        trial_file trial = { .file = numpy_file(path) };
        assert_non_null(op);
        assert_non_null(trial.file);
        for (uint64_t seed = 0; seed < CASES; seed++) {
            wish_builder at = { .seed = seed + 1000 * i };
            operators[i].build(&at);
            opd_call_wish wish = { .shapes = at.shapes, .attributes = at.attributes };
            if (!trial_run(&trial, op, &wish, seed, seed % 5 == 4)) {
                fail_msg("%s %s %s: %s", op->name, at.shapes, at.attributes, opd_error_text());
            }
        }
        assert_in_range(trial.runs, 2 * CASES + (operators[i].takes_strides ? CASES : CASES / 5), 3 * CASES);
        trial_judge(&trial, path);
    }
}

/* Operators without arguments, every dtype: what the contracts say by default is legal whatever the seed. */
static void defaults_agree_with_numpy(void **state)
{
    (void)state;
    char path[64];
    trial_file trial = { .file = numpy_file(path) };
    assert_non_null(trial.file);
    for (size_t i = 0; i < OPD_COUNT(operators); i++) {
        const opd_op *op = opd_op_find("ai.onnx", operators[i].name);
        opd_dtype legal[16];
        int count = opd_op_dtypes(op, legal, 16);
        assert_int_equal(count, OPD_COUNT(dtypes));
        for (int d = 0; d < count; d++) {
            opd_call_wish wish = { .dtype = legal[d] };
            if (!trial_run(&trial, op, &wish, (uint64_t)d, false)) {
                fail_msg("%s: %s", op->name, opd_error_text());
            }
        }
    }
    trial_judge(&trial, path);
}

/* ----------------------------------------------------------------------------------------------------- refusals */

static const struct refusal {
    const char *op, *shapes, *attributes;
    int operand; /* which holds values; 0 = none */
    int64_t values[4];
    const char *text;
} refusals[] = {
    { "Transpose", "[2,3]", "perm=[0,0]", 0, { 0 }, "Transpose: axis 0 is named twice" },
    { "Transpose", "[2,3]", "perm=[0]", 0, { 0 }, "Transpose: perm has 1 elements, data 2 dimensions" },
    { "Reshape",
      "[2,3];[2]",
      NULL,
      1,
      { 4, -1 },
      "Reshape: 6 elements of data do not make a shape of 4, with -1 what fits" },
    { "Reshape", "[2,3];[2]", NULL, 1, { -1, -1 }, "Reshape: shape has -1 more than once" },
    { "Reshape", "[2,3];[3]", NULL, 1, { 2, 3, 0 }, "Reshape: shape has 0 in dimension 2, where data has none" },
    { "Reshape", "[2,3];[2]", NULL, 1, { INT64_MAX, 3 }, "Reshape: shape has more elements than can be counted" },
    { "Slice", "[4];[1];[1];[1];[1]", NULL, 4, { 0 }, "Slice: the step of axis 0 is 0" },
    { "Slice", "[4];[1];[1];[1]", NULL, 3, { 1 }, "Slice: data has no axis 1: it has 1" },
    { "Split", "[4];[2]", NULL, 1, { 3, 2 }, "Split: 2 of split for outputs1, where 1 are left" },
    { "Split", "[4];[2]", NULL, 1, { 1, 2 }, "Split: split leaves 1 of 4 on axis 0" },
    { "Pad", "[4];[2]", NULL, 1, { -3, -2 }, "Pad: pads cut more than the 4 elements of axis 0" },
    { "Pad", "[4];[2]", NULL, 1, { INT64_MIN, 0 }, "Pad: pads cut more than the 4 elements of axis 0" },
    { "Pad", "[4];[2]", NULL, 1, { INT64_MAX, 1 }, "Pad: axis 0 becomes longer than can be counted" },
    { "Pad", "[0];[2]", "mode=edge", 1, { 1, 0 }, "Pad: axis 0 has no element to pad with; mode constant needs none" },
    { "Gather", "[3,4];[2]", "axis=1", 1, { -4, 4 }, "Gather: indices has 4 at 1, axis 1 of data has 4" },
    { "Gather", "[3,4];[2]", NULL, 1, { 0, -4 }, "Gather: indices has -4 at 1, axis 0 of data has 3" },
    { "Expand", "[3,4];[2]", NULL, 1, { 2, 4 }, "Expand: shape has 2 in dimension 0, input 3" },
    { "Resize", "[3];-;[1];[1]", NULL, 0, { 0 }, "Resize: either scales or sizes must be given, and not both" },
    { "Resize", "i32[3];-;[1]", "mode=linear", 0, { 0 }, "Resize: mode linear is of floats, X is i32" },
    { "Resize", "[3];-;[1]", "antialias=1", 0, { 0 }, "Resize: antialias is not supported" },
    { "Resize", "[3];-;-;[1]", NULL, 3, { -1 }, "Resize: size -1 of axis 0, which has 3 elements" },
    { "Resize",
      "[3];-;[1]",
      "coordinate_transformation_mode=tf_crop_and_resize",
      0,
      { 0 },
      "Resize: tf_crop_and_resize needs 2 elements of roi, begins then ends, it has 0" },
};

static void what_cannot_be_is_refused_by_name(void **state)
{
    (void)state;
    trial_file trial = { .file = NULL };
    for (size_t i = 0; i < OPD_COUNT(refusals); i++) {
        const struct refusal *refusal = &refusals[i];
        const opd_op *op = opd_op_find("ai.onnx", refusal->op);
        const opd_call_wish wish = { .shapes = refusal->shapes, .attributes = refusal->attributes };
        opd_call call;
        opd_status status = opd_call_make(&call, op, &wish);
        if (refusal->operand > 0) {
            assert_int_equal(status, OPD_OK);
            trial_place(&trial, &call, OPD_ROLE_IN, false);
            assert_int_equal(opd_call_generate(&call, 1, NULL), OPD_OK);
            memcpy(call.operands[refusal->operand].view.data, refusal->values,
                   sizeof(int64_t) * (size_t)opd_tensor_count(&call.operands[refusal->operand].view));
            status = opd_call_bind(&call);
        }
        if (status == OPD_OK) {
            fail_msg("%s %s was taken", refusal->op, refusal->shapes);
        }
        assert_string_equal(opd_error_text(), refusal->text);
    }
    trial_release(&trial);
}

/* A recording that kept no contents says what the outputs were: nobody can say better. */
static void shapes_of_a_recording_without_contents_stay(void **state)
{
    (void)state;
    const opd_call_wish wish = { .shapes = "[4,6];[2];[2]" };
    opd_call call;
    assert_int_equal(opd_call_make(&call, opd_op_find("ai.onnx", "Slice"), &wish), OPD_OK);
    for (int i = 0; i < call.operand_count; i++) {
        call.operands[i].address = 0x1000;
    }
    const int64_t shape[] = { 1, 5 };
    assert_int_equal(opd_tensor_contiguous(&call.operands[5].view, OPD_F32, 2, shape, NULL), OPD_OK);
    char text[256];
    const opd_operand *overflow = NULL;
    assert_true(opd_call_check(&call, text, sizeof text, &overflow));
    assert_int_equal(opd_call_bind(&call), OPD_OK);
    assert_int_equal(call.operands[5].view.shape[1], 5);
}

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
        cmocka_unit_test(shapes_of_a_recording_without_contents_stay),
    };
    const struct CMUnitTest judged[] = {
        cmocka_unit_test(random_calls_agree_with_numpy),
        cmocka_unit_test(defaults_agree_with_numpy),
    };
    int failed = cmocka_run_group_tests(plain, NULL, NULL);
    if (failed == 0 && !numpy_is_here()) {
        (void)fprintf(stderr, "skipped: /usr/bin/python3 has no numpy (apt install python3-numpy)\n");
        return 77;
    }
    return failed != 0 ? failed : cmocka_run_group_tests(judged, NULL, NULL);
}
