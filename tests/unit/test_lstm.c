/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, every variant, with any of its inputs and outputs, against lstm_numpy.py; the same bits for any batch and threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "numpy_process.h"
#include "trial_file.h"
#include "wish_builder.h"

enum { CASES = 300 };

static const opd_op *lstm(void)
{
    const opd_op *op = opd_op_find("ai.onnx", "LSTM");
    if (op == NULL) {
        fail_msg("%s", opd_error_text());
    }
    return op;
}

static void say_shape(wish_builder *at, int64_t a, int64_t b, int64_t c)
{
    const int64_t shape[] = { a, b, c };
    say_list(at->shapes, 3, shape);
}

/* Sizes of which few are 0; one case in twenty is larger than the tiles of the products. */
static void build(wish_builder *at)
{
    static const char *const directions[] = { "forward", "reverse", "bidirectional" };
    bool is_large = pick(at, 0, 19) == 0;
    int64_t steps = pick(at, 0, 5);
    int64_t batch = is_large ? 13 : pick(at, 0, 4);
    int64_t inputs = is_large ? 300 : pick(at, 0, 6);
    int64_t hidden = is_large ? 70 : pick(at, 0, 9);
    int64_t direction = pick(at, 0, 2);
    int64_t both = direction == 2 ? 2 : 1;
    bool is_batch_first = pick(at, 0, 1) != 0;
    say(at->attributes, "direction=%s,layout=%d,input_forget=%d", directions[direction], is_batch_first,
        (int)pick(at, 0, 1));
    if (pick(at, 0, 2) == 0) {
        say(at->attributes, ",clip=0.%d,hidden_size=%lld", (int)pick(at, 1, 9), (long long)hidden);
    }
    say_shape(at, is_batch_first ? batch : steps, is_batch_first ? steps : batch, inputs);
    say(at->shapes, ";");
    say_shape(at, both, 4 * hidden, inputs);
    say(at->shapes, ";");
    say_shape(at, both, 4 * hidden, hidden);
    const int64_t bias[] = { both, 8 * hidden };
    const int64_t peephole[] = { both, 3 * hidden };
    say(at->shapes, pick(at, 0, 1) != 0 ? ";" : ";-");
    if (at->shapes[strlen(at->shapes) - 1] == ';') {
        say_list(at->shapes, 2, bias);
    }
    say(at->shapes, pick(at, 0, 1) != 0 ? ";-" : ";[%lld]", (long long)batch);
    for (int i = 0; i < 2; i++) {
        say(at->shapes, ";");
        if (pick(at, 0, 1) != 0) {
            say_shape(at, is_batch_first ? batch : both, is_batch_first ? both : batch, hidden);
        } else {
            say(at->shapes, "-");
        }
    }
    if (pick(at, 0, 1) != 0) {
        say(at->shapes, ";");
        say_list(at->shapes, 2, peephole);
    }
}

static void random_calls_agree_with_numpy(void **state)
{
    (void)state;
    static const opd_dtype dtypes[] = { OPD_F32, OPD_F64, OPD_F16 };
    static const char *const outputs[] = { "*", NULL, "Y", "Y_h", "Y_c", "Y_h,Y_c" };
    char path[64];
    trial_file trial = { .file = numpy_file(path) };
    assert_non_null(trial.file);
    for (uint64_t seed = 0; seed < CASES; seed++) {
        wish_builder at = { .seed = seed };
        build(&at);
        opd_call_wish wish = { .dtype = dtypes[seed % 3],
                               .shapes = at.shapes,
                               .attributes = at.attributes,
                               .outputs = outputs[seed / 3 % OPD_COUNT(outputs)] };
        if (!trial_run(&trial, lstm(), &wish, seed, seed % 10 == 9)) {
            fail_msg("%s %s: %s", at.shapes, at.attributes, opd_error_text());
        }
    }
    assert_in_range(trial.runs, 3 * CASES - CASES / 10, 5 * CASES); /* portable and the definition's two at least */
    trial_judge(&trial, path);
}

/* Sequence `which` of the batch alone gives the bits that it has within it. */
static void bits_depend_neither_on_batch_nor_on_threads(void **state)
{
    (void)state;
    static const char *const variants[] = { "avx512", "avx2", "portable" };
    enum { STEPS = 4, BATCH = 37, INPUTS = 19, HIDDEN = 33 };
    const opd_call_wish whole = { .shapes = "[4,37,19];[1,132,19];[1,132,33];[1,264]", .outputs = "Y" };
    const opd_call_wish one = { .shapes = "[4,1,19];[1,132,19];[1,132,33];[1,264]", .outputs = "Y" };
    const opd_kernel *kernel = opd_kernel_find("ai.onnx", "LSTM");
    trial_file trials[2] = { { .file = NULL } };
    opd_call calls[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(opd_call_make(&calls[i], lstm(), i == 0 ? &whole : &one), OPD_OK);
        trial_place(&trials[i], &calls[i], OPD_ROLE_IN, false);
        assert_int_equal(opd_call_generate(&calls[i], 5, NULL), OPD_OK);
        trial_place(&trials[i], &calls[i], OPD_ROLE_OUT, false);
    }
    const float *x = calls[0].operands[0].view.data;
    float *alone = calls[1].operands[0].view.data;
    for (int step = 0; step < STEPS; step++) {
        memcpy(alone + step * INPUTS, x + (step * BATCH + 29) * INPUTS, INPUTS * sizeof *x);
    }
    for (size_t v = 0; v < OPD_COUNT(variants); v++) {
        const opd_variant *variant = NULL;
        if (opd_kernel_choose(&variant, kernel, &calls[0], variants[v]) != OPD_OK) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            opd_workspace workspace = { .threads = 1 + 4 * i };
            workspace.size = (variant->workspace(&calls[i], workspace.threads) + 63) / 64 * 64;
            workspace.bytes = aligned_alloc(64, workspace.size);
            assert_non_null(workspace.bytes);
            assert_int_equal(opd_variant_run(variant, &calls[i], &workspace), OPD_OK);
            free(workspace.bytes);
        }
        const float *y = opd_call_operand(&calls[0], "Y")->view.data;
        const float *y_alone = opd_call_operand(&calls[1], "Y")->view.data;
        for (int step = 0; step < STEPS; step++) {
            assert_memory_equal(y + (step * BATCH + 29) * HIDDEN, y_alone + step * HIDDEN, HIDDEN * sizeof *y);
        }
    }
    trial_release(&trials[0]);
    trial_release(&trials[1]);
}

static void what_cannot_be_is_refused_by_name(void **state)
{
    (void)state;
    static const struct refusal {
        const char *shapes, *attributes, *text;
    } refusals[] = {
        { "[3,2,4];[1,20,4];[1,20,5]", "hidden_size=6", "LSTM: hidden_size is 6, R has 5" },
        { "[3,2,4];[1,20,4];[1,20,5]", "layout=2", "LSTM: layout is 2, it may be 0 or 1" },
        { "[3,2,4];[1,20,4];[1,20,5]", "clip=-1", "LSTM: clip is -1, it may be 0 or more" },
        { "[3,2,4];[1,20,4];[1,20,5]", "direction=bidirectional",
          "LSTM: W f32[1, 20, 4] has 1 in dimension 0, where (direction == 'bidirectional' ? 2 : 1) is 2" },
    };
    for (size_t i = 0; i < OPD_COUNT(refusals); i++) {
        const opd_call_wish wish = { .shapes = refusals[i].shapes, .attributes = refusals[i].attributes };
        opd_call call;
        assert_int_equal(opd_call_make(&call, lstm(), &wish), OPD_E_INVALID);
        assert_string_equal(opd_error_text(), refusals[i].text);
    }
    const opd_call_wish wish = { .shapes = "[3,2,4];[1,20,4];[1,20,5];-;[2]" };
    const int32_t lengths[] = { 3, 4 };
    trial_file trial = { .file = NULL };
    opd_call call;
    assert_int_equal(opd_call_make(&call, lstm(), &wish), OPD_OK);
    trial_place(&trial, &call, OPD_ROLE_IN, false);
    assert_int_equal(opd_call_generate(&call, 1, NULL), OPD_OK);
    memcpy(call.operands[4].view.data, lengths, sizeof lengths);
    assert_int_equal(opd_call_bind(&call), OPD_E_INVALID);
    assert_string_equal(opd_error_text(), "LSTM: sequence_lens has 4 at 1, X 3 steps");
    trial_release(&trial);
}

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(bits_depend_neither_on_batch_nor_on_threads),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
    };
    const struct CMUnitTest judged[] = { cmocka_unit_test(random_calls_agree_with_numpy) };
    int failed = cmocka_run_group_tests(plain, NULL, NULL);
    if (failed == 0 && !numpy_is_here()) {
        (void)fprintf(stderr, "skipped: /usr/bin/python3 has no numpy (apt install python3-numpy)\n");
        return 77;
    }
    return failed != 0 ? failed : cmocka_run_group_tests(judged, NULL, NULL);
}
