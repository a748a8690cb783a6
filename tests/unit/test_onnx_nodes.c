/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's own node tests of the operators that move elements and of LSTM, each by every variant: the same bits where nothing is computed, else
 * within the tolerance of ONNX's own runner (its values are f32 goldens).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numpy_process.h"
#include "trial_file.h"

#define NODES     "/usr/share/libonnx-testdata/data/node"
#define OPERATORS "Transpose Reshape Concat Slice Split Pad Gather Expand Resize LSTM"

/* Those that the package of Debian 12 (ONNX 1.12) has; a newer one may have more. */
enum { KNOWN_TESTS = 79 };

typedef struct node_test {
    char name[128], op[64], shapes[512], attributes[512], outputs[32], expected[512];
} node_test;

static bool read_test(node_test *out, FILE *file)
{
    char line[2048];
    char *fields[6];
    if (fgets(line, sizeof line, file) == NULL) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    char *rest = line;
    for (int i = 0; i < 6; i++) {
        fields[i] = strsep(&rest, "|");
        assert_non_null(fields[i]);
    }
    (void)snprintf(out->name, sizeof out->name, "%s", fields[0]);
    (void)snprintf(out->op, sizeof out->op, "%s", fields[1]);
    (void)snprintf(out->shapes, sizeof out->shapes, "%s", fields[2]);
    (void)snprintf(out->attributes, sizeof out->attributes, "%s", fields[3]);
    (void)snprintf(out->outputs, sizeof out->outputs, "%s", fields[4]);
    (void)snprintf(out->expected, sizeof out->expected, "%s", fields[5]);
    return true;
}

/* Only outputs of the mask are there; it may be shorter. */
static void keep_outputs(opd_call *call, const char *mask)
{
    size_t at = 0;
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        if (operand->role == OPD_ROLE_OUT) {
            bool is_kept = at < strlen(mask) && mask[at] == '1';
            operand->flags |= is_kept ? 0 : (uint32_t)OPD_OPERAND_ABSENT;
            at++;
        }
    }
}

static void check_output(const node_test *test, const char *variant, const opd_operand *operand, const uint8_t *want)
{
    const opd_tensor *view = &operand->view;
    int64_t count = opd_tensor_count(view);
    size_t size = opd_dtype_size(view->dtype);
    bool is_move = strcmp(test->op, "Resize") != 0 && strcmp(test->op, "LSTM") != 0;
    if (is_move && memcmp(view->data, want, (size_t)count * size) != 0) {
        fail_msg("%s, %s: %s has other elements", test->name, variant, operand->name);
    }
    for (int64_t i = 0; i < count && !is_move; i++) {
        double got = 0;
        double right = 0;
        double unused = 0;
        opd_element_load(view->dtype, (const uint8_t *)view->data + (size_t)i * size, &got, &unused);
        opd_element_load(view->dtype, want + (size_t)i * size, &right, &unused);
        if (!(fabs(got - right) <= 1e-7 + 1e-3 * fabs(right))) {
            fail_msg("%s, %s: %s[%lld] is %.9g, not %.9g", test->name, variant, operand->name, (long long)i, got,
                     right);
        }
    }
}

/* "f32[2,3];i64[]" of the outputs that are there. */
static void check_shapes(const node_test *test, const opd_call *call)
{
    char text[512] = "";
    size_t used = 0;
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (operand->role != OPD_ROLE_OUT || (operand->flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s[", used > 0 ? ";" : "",
                                 opd_dtype_name(operand->view.dtype));
        for (int d = 0; d < operand->view.rank; d++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", d > 0 ? "," : "",
                                     (long long)operand->view.shape[d]);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "]");
    }
    if (strcmp(text, test->expected) != 0) {
        fail_msg("%s: the outputs are %s, not %s", test->name, text, test->expected);
    }
}

static void load_inputs(const opd_call *call, FILE *file)
{
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (operand->role == OPD_ROLE_IN && (operand->flags & OPD_OPERAND_ABSENT) == 0) {
            size_t count = (size_t)opd_tensor_count(&operand->view);
            assert_int_equal(fread(operand->view.data, opd_dtype_size(operand->view.dtype), count, file), count);
        }
    }
}

static void check_test(const node_test *test, FILE *file)
{
    const opd_op *op = opd_op_find("ai.onnx", test->op);
    const opd_call_wish wish = { .shapes = test->shapes, .attributes = test->attributes, .outputs = "*" };
    trial_file trial = { .file = NULL };
    opd_call call;
    uint8_t *expected[OPD_MAX_OPERANDS] = { NULL };
    if (opd_call_make(&call, op, &wish) != OPD_OK) {
        fail_msg("%s: %s", test->name, opd_error_text());
    }
    keep_outputs(&call, test->outputs);
    trial_place(&trial, &call, OPD_ROLE_IN, false);
    load_inputs(&call, file);
    if (opd_call_bind(&call) != OPD_OK) {
        fail_msg("%s: %s", test->name, opd_error_text());
    }
    check_shapes(test, &call);
    trial_place(&trial, &call, OPD_ROLE_OUT, false);
    for (int i = 0; i < call.operand_count; i++) {
        const opd_tensor *view = &call.operands[i].view;
        if (call.operands[i].role == OPD_ROLE_OUT && (call.operands[i].flags & OPD_OPERAND_ABSENT) == 0) {
            size_t count = (size_t)opd_tensor_count(view);
            expected[i] = malloc(count * opd_dtype_size(view->dtype) + 1);
            assert_non_null(expected[i]);
            assert_int_equal(fread(expected[i], opd_dtype_size(view->dtype), count, file), count);
        }
    }
    const opd_kernel *kernel = opd_kernel_find("ai.onnx", test->op);
    const opd_variant *variant = NULL;
    for (int v = 0; (variant = opd_kernel_variant(kernel, v)) != NULL; v++) {
        const opd_variant *chosen = NULL;
        if (!opd_variant_is_choice(variant) || opd_kernel_choose(&chosen, kernel, &call, variant->name) != OPD_OK) {
            continue;
        }
        assert_int_equal(opd_variant_run(chosen, &call, NULL), OPD_OK);
        for (int i = 0; i < call.operand_count; i++) {
            if (expected[i] != NULL) {
                check_output(test, variant->name, &call.operands[i], expected[i]);
            }
        }
    }
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        free(expected[i]);
    }
    trial_release(&trial);
}

static void every_node_test_passes(void **state)
{
    (void)state;
    FILE *file = numpy_run(NODES " " OPERATORS, NULL);
    node_test test;
    int count = 0;
    assert_non_null(file);
    for (; read_test(&test, file); count++) {
        check_test(&test, file);
    }
    assert_int_equal(pclose(file), 0);
    assert_in_range(count, KNOWN_TESTS, 10000);
}

int main(void)
{
    if (access(NODES, R_OK) != 0) {
        (void)fprintf(stderr, "skipped: no %s (apt install libonnx-testdata)\n", NODES);
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_node_test_passes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
