/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's files: tensors against what python reads in them, hostile messages, models that are refused and why. Translated forms have their
 * expected values in the end-to-end test of import.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/onnx.h>

#include "numpy_process.h"

/* ------------------------------------------------------------------------------------------ as python reads them */

static void check_tensor(const uint8_t *message, size_t size, const char *dtype, const uint8_t *content, size_t bytes,
                         const char *dims)
{
    opd_onnx_tensor tensor;
    if (opd_onnx_tensor_read(&tensor, message, size) != OPD_OK) {
        fail_msg("%s [%s]: %s", dtype, dims, opd_error_text());
    }
    assert_string_equal(opd_dtype_name(tensor.view.dtype), dtype);
    const char *rest = dims;
    for (int d = 0; d < tensor.view.rank; d++) {
        char *end = NULL;
        assert_int_equal(strtoll(rest, &end, 10), tensor.view.shape[d]);
        assert_ptr_not_equal(rest, end);
        rest = end;
    }
    assert_int_equal(strspn(rest, " \n"), strlen(rest));
    assert_int_equal(opd_tensor_packed_bytes(&tensor.view), bytes);
    assert_memory_equal(tensor.memory, content, bytes);
    opd_onnx_tensor_done(&tensor);
}

static int check_all(const char *arguments)
{
    static uint8_t memory[1 << 22];
    char line[256];
    int count = 0;
    FILE *lines = numpy_run(arguments, NULL);
    assert_non_null(lines);
    while (fgets(line, sizeof line, lines) != NULL) {
        char dtype[16];
        size_t size = 0;
        size_t bytes = 0;
        int used = 0;
        assert_int_equal(sscanf(line, "%zu %15s %zu%n", &size, dtype, &bytes, &used), 3); /* NOLINT(cert-err34-c) */
        assert_true(size + bytes <= sizeof memory);
        assert_int_equal(fread(memory, 1, size + bytes, lines), size + bytes);
        check_tensor(memory, size, dtype, memory + size, bytes, line + used);
        count++;
    }
    assert_int_equal(pclose(lines), 0);
    return count;
}

static void every_dtype_and_form_reads_as_python_wrote_it(void **state)
{
    (void)state;
    if (!numpy_is_here()) {
        skip();
    }
    assert_int_equal(check_all("made"), 15 * 6 * 3);
}

static void stored_tensors_read_as_python_reads_them(void **state)
{
    (void)state;
    if (!numpy_is_here() || system("test -d /usr/share/libonnx-testdata/data/node") != 0) { /* NOLINT(cert-env33-c) */
        skip();
    }
    assert_true(check_all("stored") > 2000);
}

/* ------------------------------------------------------------------------------------------------------ hostile */

static void refuse_tensor(const void *bytes, size_t size, opd_status expected, const char *part)
{
    opd_onnx_tensor tensor = { .name = "untouched" };
    opd_status status = opd_onnx_tensor_read(&tensor, bytes, size);
    if (status != expected || strstr(opd_error_text(), part) == NULL || strchr(opd_error_text(), '\n') != NULL) {
        fail_msg("%s: \"%s\" does not say \"%s\"", opd_status_name(status), opd_error_text(), part);
    }
    assert_string_equal(tensor.name, "untouched");
}

static void tensors_that_lie_are_refused_before_memory_is_taken(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        opd_status status;
        const char *part;
    } cases[] = {
#define CASE(text, status, part) { text, sizeof(text) - 1, status, part }
        CASE("", OPD_E_FORMAT, "no element type"), CASE("\x08\x02\x10", OPD_E_FORMAT, "malformed at byte 2 of 3"),
        CASE("\x0b", OPD_E_FORMAT, "malformed"), /* a group */
        CASE("\x08\x03\x10\x08", OPD_E_UNSUPPORTED, "STRING"), CASE("\x08\x03\x10\x63", OPD_E_UNSUPPORTED, "unknown"),
        CASE("\x10\x01\x70\x01", OPD_E_UNSUPPORTED, "another file"),
        CASE("\x10\x01\x1a\x00", OPD_E_UNSUPPORTED, "segment"),
        /* 2^62 elements, and none of their values */
        CASE("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x10\x02", OPD_E_FORMAT, "0 values for 4611686018427387904"),
        CASE("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x10\x01", OPD_E_INVALID,
             ""),
        CASE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01", OPD_E_INVALID, ""), /* -1 */
        CASE("\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x08\x01\x10\x01", OPD_E_UNSUPPORTED,
             "more than 8 dimensions"),
        CASE("\x08\x02\x10\x01\x4a\x07"
             "1234567",
             OPD_E_FORMAT, "7 bytes of raw data for 2 elements of f32"),
        CASE("\x08\x01\x10\x01\x22\x03"
             "123",
             OPD_E_FORMAT, "wrong form"), /* packed floats cut off */
        CASE("\x08\x01\x10\x0e\x25\x01\x01\x01\x01", OPD_E_FORMAT,
             "0 values for 1 elements of c64"), /* half a complex */
        CASE("\x08\x02\x10\x07\x3a\x01\x01", OPD_E_FORMAT, "1 values for 2 elements of i64"),
        CASE("\x08\x01\x10\x07\x3a\x02\x81\x81", OPD_E_FORMAT, "wrong form"),
        CASE("\x08\x01\x10\x07\x3a\x0c\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x01", OPD_E_FORMAT,
             "more than 64 bits"),
        CASE("\x08\x01\x10\x07\x3d\x01\x01\x01\x01", OPD_E_FORMAT, "wrong form"), /* i64 as fixed32 */
#undef CASE
    };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        opd_fail_allocation_after(0); /* the first one fails: E_NOMEM, were there any */
        if (strstr(cases[i].part, "64 bits") != NULL) {
            opd_fail_allocation_after(-1); /* told from the second pass */
        }
        refuse_tensor(cases[i].bytes, cases[i].size, cases[i].status, cases[i].part);
    }
    opd_fail_allocation_after(-1);
}

static void any_part_of_a_tensor_is_read_or_refused(void **state)
{
    static const char whole[] = "\x08\x02\x08\x01\x10\x01\x42\x01x\x22\x08\x00\x00\x80\x3f\x00\x00\x00\x40";
    opd_onnx_tensor tensor;
    (void)state;
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        assert_int_not_equal(opd_onnx_tensor_read(&tensor, whole, size), OPD_OK);
    }
    assert_int_equal(opd_onnx_tensor_read(&tensor, whole, sizeof whole - 1), OPD_OK);
    assert_string_equal(tensor.name, "x");
    assert_true(((const float *)tensor.memory)[1] == 2.0F);
    opd_onnx_tensor_done(&tensor);
}

/* ------------------------------------------------------------------------------------------------------- models */

/* A message under construction. */
typedef struct message {
    uint8_t bytes[8192];
    size_t size;
} message;

static void put_varint(message *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        to->bytes[to->size++] = (uint8_t)(value | 0x80);
    }
    to->bytes[to->size++] = (uint8_t)value;
}

static void put_number(message *to, unsigned field, uint64_t value)
{
    put_varint(to, (uint64_t)field << 3);
    put_varint(to, value);
}

static void put_bytes(message *to, unsigned field, const void *bytes, size_t size)
{
    put_varint(to, (uint64_t)field << 3 | 2);
    put_varint(to, size);
    assert_true(to->size + size <= sizeof to->bytes);
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void put_text(message *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

static void put_message(message *to, unsigned field, const message *inner)
{
    put_bytes(to, field, inner->bytes, inner->size);
}

static message node_of(const char *op, const char *domain)
{
    message node = { .size = 0 };
    put_text(&node, 1, "x");
    put_text(&node, 2, "y");
    put_text(&node, 4, op);
    if (domain[0] != '\0') {
        put_text(&node, 7, domain);
    }
    return node;
}

static message model_of(const message *nodes, int count, uint64_t opset)
{
    message graph = { .size = 0 };
    message model = { .size = 0 };
    message set = { .size = 0 };
    for (int i = 0; i < count; i++) {
        put_message(&graph, 1, &nodes[i]);
    }
    put_number(&set, 2, opset);
    put_message(&model, 7, &graph);
    put_message(&model, 8, &set);
    return model;
}

/* Why a model is not read, or its node cannot become a call. */
static void refuse_model(const message *bytes, opd_status expected, const char *part)
{
    opd_onnx_model *model = NULL;
    opd_status status = opd_onnx_model_read(&model, bytes->bytes, bytes->size);
    status = status == OPD_OK ? opd_onnx_model_check(model) : status;
    if (status != expected || strstr(opd_error_text(), part) == NULL || strchr(opd_error_text(), '\n') != NULL) {
        fail_msg("%s: \"%s\" does not say \"%s\"", opd_status_name(status), opd_error_text(), part);
    }
    opd_onnx_model_close(model);
}

static void models_that_are_no_call_say_why(void **state)
{
    message nodes[] = { node_of("Neg", ""), node_of("Abs", "") };
    message model = model_of(nodes, 2, 13);
    message attribute = { .size = 0 };
    (void)state;
    refuse_model(&model, OPD_E_UNSUPPORTED, "several operators (Neg, Abs)");
    model = model_of(nodes, 0, 13);
    refuse_model(&model, OPD_E_UNSUPPORTED, "no operator");
    model.size = 0;
    refuse_model(&model, OPD_E_FORMAT, "no graph");
    nodes[0] = node_of("Acosh\n2", "");
    model = model_of(nodes, 1, 13);
    refuse_model(&model, OPD_E_NOTFOUND, "operator Acosh?2 is unknown");
    nodes[0] = node_of("Neg", "com.example");
    model = model_of(nodes, 1, 13);
    refuse_model(&model, OPD_E_NOTFOUND, "of domain com.example");
    nodes[0] = node_of("Neg", "");
    put_text(&attribute, 1, "body");
    put_text(&attribute, 6, "");
    put_message(&nodes[0], 5, &attribute);
    model = model_of(nodes, 1, 13);
    refuse_model(&model, OPD_E_UNSUPPORTED, "control flow (attribute body");
    nodes[0] = node_of("Neg", "");
    for (int i = 0; i < OPD_ONNX_EDGES; i++) {
        put_text(&nodes[0], 1, "x");
    }
    model = model_of(nodes, 1, 13);
    refuse_model(&model, OPD_E_LIMIT, "more than 32 inputs");
    attribute.size = 0;
    put_text(&attribute, 1, "pads");
    put_bytes(&attribute, 8, "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", 17);
    nodes[0] = node_of("Pad", "");
    put_message(&nodes[0], 5, &attribute);
    model = model_of(nodes, 1, 2);
    refuse_model(&model, OPD_E_LIMIT, "attribute pads has more than 16 numbers");
}

static void constants_beside_the_node_are_its_inputs(void **state)
{
    message nodes[] = { { .size = 0 }, node_of("Abs", "") };
    message attribute = { .size = 0 };
    message value = { .size = 0 };
    opd_onnx_model *model = NULL;
    opd_onnx_example *example = NULL;
    (void)state;
    put_number(&value, 1, 2);
    put_number(&value, 2, 6);
    put_number(&value, 5, (uint64_t)-3);
    put_number(&value, 5, 4);
    put_text(&attribute, 1, "value");
    put_message(&attribute, 5, &value);
    put_text(&nodes[0], 2, "x");
    put_text(&nodes[0], 4, "Constant");
    put_message(&nodes[0], 5, &attribute);
    message bytes = model_of(nodes, 2, 13);
    assert_int_equal(opd_onnx_model_read(&model, bytes.bytes, bytes.size), OPD_OK);
    assert_int_equal(model->opset, 13);
    assert_int_equal(opd_onnx_example_make(&example, model, NULL, 0, NULL, 0), OPD_OK);
    assert_int_equal(example->call.operand_count, 2);
    assert_int_equal(example->call.operands[0].view.dtype, OPD_I32);
    assert_int_equal(((const int32_t *)example->call.operands[0].view.data)[0], -3);
    assert_null(example->call.operands[1].view.data);
    opd_onnx_example_free(example);
    opd_onnx_model_close(model);
}

/* Each allocation of reading and making fails once. */
static void failed_allocations_leave_nothing_behind(void **state)
{
    static const char tensor_bytes[] = "\x08\x02\x10\x01\x22\x08\x00\x00\x80\x3f\x00\x00\x00\x40";
    message node = node_of("ReduceSum", "");
    message attribute = { .size = 0 };
    bool is_made = false;
    (void)state;
    put_text(&attribute, 1, "axes");
    put_number(&attribute, 8, 0);
    put_number(&attribute, 20, 7);
    put_message(&node, 5, &attribute);
    message graph_input = { .size = 0 };
    put_text(&graph_input, 1, "x");
    message graph = { .size = 0 };
    put_message(&graph, 1, &node);
    put_message(&graph, 11, &graph_input);
    message bytes = { .size = 0 };
    put_message(&bytes, 7, &graph);
    for (long n = 0; n < 50 && !is_made; n++) {
        opd_onnx_model *model = NULL;
        opd_onnx_example *example = NULL;
        opd_onnx_tensor tensor = { .name = "" };
        opd_fail_allocation_after(n);
        opd_status status = opd_onnx_model_read(&model, bytes.bytes, bytes.size);
        status = status == OPD_OK ? opd_onnx_tensor_read(&tensor, tensor_bytes, sizeof tensor_bytes - 1) : status;
        status = status == OPD_OK ? opd_onnx_example_make(&example, model, &tensor, 1, NULL, 0) : status;
        opd_fail_allocation_after(-1);
        assert_true(status == OPD_OK || status == OPD_E_NOMEM);
        is_made = status == OPD_OK;
        assert_true(!is_made || example->made_count == 1);
        opd_onnx_example_free(example);
        opd_onnx_tensor_done(&tensor);
        opd_onnx_model_close(model);
    }
    assert_true(is_made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_and_form_reads_as_python_wrote_it),
        cmocka_unit_test(stored_tensors_read_as_python_reads_them),
        cmocka_unit_test(tensors_that_lie_are_refused_before_memory_is_taken),
        cmocka_unit_test(any_part_of_a_tensor_is_read_or_refused),
        cmocka_unit_test(models_that_are_no_call_say_why),
        cmocka_unit_test(constants_beside_the_node_are_its_inputs),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
