/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds of every general operator at random sizes: broadcasting is numpy's; a symbol that is set has its value and
 * all views agree with it, as if the call had been made so; made-up inputs depend on the seed only and stay in their range.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>
#include <opsdebug/memory.h>

#include "general_ops.h"
#include "numpy_process.h"

enum { BROADCASTS = 4000, SETS = 400, SEED = 20 };

static uint64_t drawn;

static int64_t below(int64_t bound)
{
    return (int64_t)(opd_random_u64(SEED, 1, drawn++) % (uint64_t)bound);
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < general_op_count; i++) {
        if (opd_op_register(&general_ops[i]) != OPD_OK) {
            return -1;
        }
    }
    return 0;
}

/* "2,3": dimensions mostly from those of a common shape, so that many fit. */
static int print_dims(char *text, size_t size, const int64_t *common)
{
    int rank = (int)below(OPD_MAX_RANK + 1);
    int used = 0;
    text[0] = '\0';
    for (int d = OPD_MAX_RANK - rank; d < OPD_MAX_RANK; d++) {
        int64_t dim = below(3) == 0 ? 1 : below(12) == 0 ? below(4) : common[d];
        used += snprintf(text + used, size - (size_t)used, "%s%lld", used > 0 ? "," : "", (long long)dim);
    }
    return used;
}

static void broadcasting_is_that_of_numpy(void **state)
{
    (void)state;
    char path[64];
    char wishes[BROADCASTS][320];
    if (!numpy_is_here()) {
        print_message("python3-numpy is not installed\n");
        skip();
    }
    FILE *file = numpy_file(path);
    assert_non_null(file);
    for (int i = 0; i < BROADCASTS; i++) {
        int64_t common[OPD_MAX_RANK];
        int operands = 1 + (int)below(4);
        int used = 0;
        for (int d = 0; d < OPD_MAX_RANK; d++) {
            common[d] = below(5);
        }
        for (int k = 0; k < operands; k++) {
            char dims[64];
            (void)print_dims(dims, sizeof dims, common);
            (void)fprintf(file, "%s%s", k > 0 ? ";" : "", dims);
            used += snprintf(wishes[i] + used, sizeof wishes[i] - (size_t)used, "%s[%s]", k > 0 ? ";" : "", dims);
        }
        (void)fprintf(file, "\n");
    }
    assert_int_equal(fclose(file), 0);
    FILE *answers = numpy_run("broadcast", path);
    assert_non_null(answers);
    const opd_op *op = opd_op_find("test", "Max");
    int refused = 0;
    for (int i = 0; i < BROADCASTS; i++) {
        char expected[128];
        char shape[128] = "";
        opd_call call;
        assert_non_null(fgets(expected, sizeof expected, answers));
        expected[strcspn(expected, "\n")] = '\0';
        opd_status status = opd_call_make(&call, op, &(opd_call_wish){ .shapes = wishes[i] });
        const opd_tensor *view = status == OPD_OK ? &call.operands[call.operand_count - 1].view : NULL;
        for (int d = 0, used = 0; view != NULL && d < view->rank; d++) {
            used += snprintf(shape + used, sizeof shape - (size_t)used, "%s%lld", d > 0 ? "," : "",
                             (long long)view->shape[d]);
        }
        refused += status != OPD_OK;
        if (strcmp(status == OPD_OK ? shape : "refused", expected) != 0) {
            fail_msg("%s: %s, where numpy says %s", wishes[i], status == OPD_OK ? shape : opd_error_text(), expected);
        }
    }
    assert_true(refused > BROADCASTS / 10 && refused < BROADCASTS - BROADCASTS / 10);
    assert_int_equal(pclose(answers), 0);
    assert_int_equal(unlink(path), 0);
}

/* The call's inputs as a wish. */
static void print_shapes(char *text, size_t size, const opd_call *call)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < call->operand_count && (call->operands[i].role & OPD_ROLE_IN) != 0; i++) {
        const opd_tensor *view = &call->operands[i].view;
        bool is_absent = (call->operands[i].flags & OPD_OPERAND_ABSENT) != 0;
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ";" : "",
                                 is_absent ? "-" : opd_dtype_name(view->dtype));
        for (int d = 0; d < view->rank && !is_absent; d++) {
            used += (size_t)snprintf(text + used, size - used, "%s%lld", d > 0 ? "," : "[", (long long)view->shape[d]);
        }
        used += (size_t)snprintf(text + used, size - used, is_absent ? "" : view->rank == 0 ? "[]" : "]");
    }
}

/* A call like this one, made anew from its shapes and attributes. */
static void require_made_alike(const opd_call *call)
{
    char shapes[1024];
    opd_call again;
    int64_t known[OPD_MAX_RANK];
    bool depends_on_content = strcmp(call->name, "Expand") == 0;
    if (depends_on_content && opd_call_content(call, 1, known, OPD_MAX_RANK) < 0) {
        return; /* its output is as it was before */
    }
    print_shapes(shapes, sizeof shapes, call);
    opd_status status = opd_call_make(&again, call->op, &(opd_call_wish){ .dtype = call->dtype, .shapes = shapes });
    if (status != OPD_OK) {
        fail_msg("%s of %s: %s", call->name, shapes, opd_error_text());
    }
    memcpy(again.attrs, call->attrs, sizeof again.attrs);
    assert_int_equal(opd_call_bind(&again), OPD_OK);
    assert_int_equal(again.symbol_count, call->symbol_count);
    assert_memory_equal(again.symbols, call->symbols, sizeof again.symbols);
    assert_int_equal(again.operand_count, call->operand_count);
    for (int i = 0; i < call->operand_count; i++) {
        assert_int_equal(again.operands[i].view.rank, call->operands[i].view.rank);
        assert_memory_equal(again.operands[i].view.shape, call->operands[i].view.shape,
                            sizeof again.operands[i].view.shape);
        assert_memory_equal(again.operands[i].view.stride, call->operands[i].view.stride,
                            sizeof again.operands[i].view.stride);
    }
}

static void a_symbol_that_is_set_is_what_all_views_say(void **state)
{
    (void)state;
    int set = 0;
    for (int k = 0; k < general_op_count; k++) {
        opd_call call;
        assert_int_equal(opd_call_init(&call, &general_ops[k], general_ops[k].name, OPD_DTYPE_NONE), OPD_OK);
        for (int i = 0; i < SETS && call.symbol_count > 0; i++) {
            char name[OPD_NAME];
            char text[256];
            const opd_operand *overflow = NULL;
            int64_t value = below(8);
            opd_call before = call;
            memcpy(name, call.symbols[below(call.symbol_count)].name, sizeof name);
            if (opd_call_set(&call, name, value) != OPD_OK) {
                assert_memory_equal(&call, &before, sizeof call);
                continue;
            }
            set++;
            assert_int_equal(opd_call_value(&call, name)->i, value);
            if (!opd_call_check(&call, text, sizeof text, &overflow)) {
                fail_msg("%s", text);
            }
            require_made_alike(&call);
        }
    }
    assert_true(set > SETS * general_op_count / 2);
}

/* The contract's own sizes, in one dtype: a call that is whole, stays whole at other sizes, and can be filled. */
static void try_default(const opd_op *op, opd_dtype dtype)
{
    opd_call call;
    char text[512];
    const opd_operand *overflow = NULL;
    if (opd_call_make(&call, op, &(opd_call_wish){ .dtype = dtype }) != OPD_OK) {
        fail_msg("%s: %s", op->name, opd_error_text());
    }
    /* All outputs, where the attributes allow them. */
    opd_status all = opd_call_make(&call, op, &(opd_call_wish){ .dtype = dtype, .outputs = "*" });
    assert_true(all == OPD_OK || all == OPD_E_INVALID);
    if (!opd_call_check(&call, text, sizeof text, &overflow)) {
        fail_msg("%s", text);
    }
    assert_int_equal(call.dtype, dtype);
    opd_call_describe(text, sizeof text, &call);
    assert_true(strlen(text) > strlen(op->name) + 2);
    assert_true(opd_call_flops(&call) >= 0 && opd_call_flops(&call) < 1e15);
    for (int i = 0; i < 4 * call.symbol_count; i++) {
        opd_call smaller = call;
        const char *name = call.symbols[i / 4].name;
        if (opd_call_set(&smaller, name, i % 4) != OPD_OK) {
            assert_memory_equal(&smaller, &call, sizeof call);
        } else if (!opd_call_check(&smaller, text, sizeof text, &overflow)) {
            fail_msg("%s with %s = %d: %s", op->name, name, i % 4, text);
        }
    }
    opd_case item;
    if (opd_case_allocate(&item, &call, (uint64_t)64 << 20) != OPD_OK) {
        fail_msg("%s: %s", op->name, opd_error_text());
    }
    if (opd_call_generate(&item.call, 7, NULL) != OPD_OK) {
        fail_msg("%s: %s", op->name, opd_error_text());
    }
    opd_case_done(&item);
}

static void every_contract_of_the_table_makes_calls_in_each_dtype(void **state)
{
    (void)state;
    const opd_op *op = NULL;
    for (int i = 0; (op = opd_op_at(i)) != NULL; i++) {
        opd_dtype dtypes[16];
        int count = op->routines == NULL ? opd_op_dtypes(op, dtypes, (int)OPD_COUNT(dtypes)) : 0;
        assert_true(op->routines != NULL || count > 0);
        for (int k = 0; k < count; k++) {
            try_default(op, dtypes[k]);
        }
    }
}

/* -------------------------------------------------------------------------------------------------- contents */

static opd_case filled(const char *name, const char *shapes, uint64_t seed, const opd_fill *fill)
{
    opd_call call;
    opd_case item;
    assert_int_equal(opd_call_make(&call, opd_op_find("test", name), &(opd_call_wish){ .shapes = shapes }), OPD_OK);
    assert_int_equal(opd_case_allocate(&item, &call, UINT64_MAX), OPD_OK);
    assert_int_equal(opd_call_generate(&item.call, seed, fill), OPD_OK);
    return item;
}

static opd_digest content(const opd_case *item, int operand)
{
    return opd_tensor_digest(&item->call.operands[operand].view);
}

static void contents_depend_on_the_seed_and_the_operand_only(void **state)
{
    (void)state;
    opd_case one = filled("Add", "[5,7];[7]", 3, NULL);
    opd_case again = filled("Add", "[5,7];[7]", 3, NULL);
    opd_case other = filled("Add", "[5,7];[7]", 4, NULL);
    opd_case longer = filled("Add", "[6,7];[1,7]", 3, NULL);
    for (int i = 0; i < 2; i++) {
        opd_digest digests[] = { content(&one, i), content(&again, i), content(&other, i) };
        assert_true(opd_digest_equal(&digests[0], &digests[1]));
        assert_false(opd_digest_equal(&digests[0], &digests[2]));
    }
    assert_memory_equal(one.call.operands[0].view.data, longer.call.operands[0].view.data, 35 * sizeof(float));
    assert_memory_not_equal(one.call.operands[0].view.data, one.call.operands[1].view.data, 7 * sizeof(float));
    assert_int_equal(one.call.seed, 3);
    opd_case *const all[] = { &one, &again, &other, &longer };
    for (size_t i = 0; i < OPD_COUNT(all); i++) {
        opd_case_done(all[i]);
    }
}

static void the_contract_says_what_an_input_holds(void **state)
{
    (void)state;
    opd_fill huge = { .kind = OPD_FILL_CONSTANT, .a = 1e9 };
    opd_case item = filled("Gather", "[7,2];[300]", 5, &huge);
    const int64_t *index = item.call.operands[1].view.data;
    bool is_met[7] = { false };
    for (int i = 0; i < 300; i++) {
        assert_in_range(index[i], 0, 6);
        is_met[index[i]] = true;
    }
    for (int i = 0; i < 7; i++) {
        assert_true(is_met[i]);
    }
    assert_true(((const float *)item.call.operands[0].view.data)[13] == 1e9F);
    opd_case_done(&item);

    item = filled("Expand", "[3,1];[3]", 5, &huge);
    const int64_t expected[] = { 2, 2, 4 };
    int64_t read[4];
    assert_memory_equal(item.call.operands[1].view.data, expected, sizeof expected);
    assert_int_equal(opd_call_content(&item.call, 1, read, 4), 3);
    assert_memory_equal(read, expected, sizeof expected);
    assert_int_equal(opd_call_content(&item.call, 1, read, 2), -1);
    ((int64_t *)item.call.operands[1].view.data)[0] = 9; /* the shape of the output is what memory says */
    assert_non_null(item.call.operands[2].view.data);
    assert_int_equal(opd_call_bind(&item.call), OPD_OK);
    assert_int_equal(item.call.operands[2].view.shape[0], 9);
    assert_null(item.call.operands[2].view.data); /* no room for it */
    opd_case_done(&item);

    opd_call call; /* what cannot be known yet is left as it was found */
    assert_int_equal(opd_call_make(&call, opd_op_find("test", "Expand"), &(opd_call_wish){ .shapes = "[3,1];[9]" }),
                     OPD_OK);
    assert_int_equal(call.operands[2].view.shape[0], 0);
    call.operands[2].view.rank = 2;
    call.operands[2].view.shape[0] = 5;
    call.operands[2].view.shape[1] = 6;
    call.operands[2].view.stride[0] = 6;
    call.operands[2].view.stride[1] = 1;
    assert_int_equal(opd_call_bind(&call), OPD_OK);
    assert_int_equal(call.operands[2].view.shape[1], 6);
    assert_int_equal(opd_call_value(&call, "o0")->i, 5);

    item = filled("LayerNormalization", "[4,100];[100];[100]", 5, NULL);
    const float *scale = item.call.operands[1].view.data;
    for (int i = 0; i < 100; i++) {
        assert_true(scale[i] >= 0.5F && scale[i] < 1.5F);
    }
    opd_case_done(&item);
}

/* --------------------------------------------------------------------------------------------------- bundles */

static void a_call_with_data_comes_back_from_a_bundle(void **state)
{
    (void)state;
    char path[] = "/tmp/opd-test-general-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    opd_writer *writer = NULL;
    opd_header_info header = { .version = OPD_FORMAT_VERSION };
    opd_case items[32];
    assert_true(general_op_count <= (int)OPD_COUNT(items));
    assert_int_equal(opd_writer_open(&writer, path, &header), OPD_OK);
    opd_case stripped = filled("Add", "[2,3];[3]", 1, NULL); /* as a runtime may record it: without symbols */
    for (int i = 0; i < general_op_count; i++) {
        items[i] = filled(general_ops[i].name, NULL, (uint64_t)i, NULL);
        items[i].call.thread = 1;
        items[i].call.number = (uint64_t)i + 1;
        assert_int_equal(opd_writer_call_with_data(writer, &items[i].call), OPD_OK);
    }
    opd_call bare = stripped.call;
    bare.op = NULL;
    bare.symbol_count = 0;
    bare.thread = 1;
    bare.number = 100;
    assert_int_equal(opd_writer_call_with_data(writer, &bare), OPD_OK);
    memcpy(bare.operands[1].name, "Z", 2); /* not this operator's */
    bare.number = 101;
    assert_int_equal(opd_writer_call_with_data(writer, &bare), OPD_OK);
    opd_case_done(&stripped);
    assert_int_equal(opd_writer_close(writer), OPD_OK);
    opd_bundle *bundle = NULL;
    assert_int_equal(opd_bundle_open(&bundle, path), OPD_OK);
    for (int i = 0; i < general_op_count; i++) {
        opd_call call;
        opd_case item;
        assert_int_equal(opd_bundle_call(&call, bundle, (uint64_t)i), OPD_OK);
        assert_ptr_equal(call.op, &general_ops[i]);
        assert_memory_equal(call.attrs, items[i].call.attrs, sizeof call.attrs);
        assert_memory_equal(call.symbols, items[i].call.symbols, sizeof call.symbols);
        if (opd_case_load(&item, bundle, &call, UINT64_MAX) != OPD_OK) {
            fail_msg("%s", opd_error_text());
        }
        assert_int_equal(opd_call_bind(&item.call), OPD_OK);
        for (int k = 0; k < call.operand_count; k++) {
            const opd_operand *got = &item.call.operands[k];
            const opd_operand *want = &items[i].call.operands[k];
            assert_int_equal(got->flags, want->flags);
            assert_memory_equal(got->view.shape, want->view.shape, sizeof got->view.shape);
            if ((want->flags & OPD_OPERAND_ABSENT) == 0 && want->role == OPD_ROLE_IN) {
                opd_digest digests[] = { content(&item, k), content(&items[i], k) };
                assert_true(opd_digest_equal(&digests[0], &digests[1]));
            }
        }
        opd_digest ids[] = { opd_case_id(&item), opd_case_id(&items[i]) };
        assert_true(opd_digest_equal(&ids[0], &ids[1]));
        opd_case_done(&item);
        opd_case_done(&items[i]);
    }
    opd_call call;
    assert_int_equal(opd_bundle_call(&call, bundle, (uint64_t)general_op_count), OPD_OK);
    assert_ptr_equal(call.op, opd_op_find("test", "Add"));
    assert_int_equal(call.symbol_count, 2);
    assert_int_equal(opd_bundle_call(&call, bundle, (uint64_t)general_op_count + 1), OPD_OK);
    assert_null(call.op);
    assert_int_equal(call.operand_count, 3);
    opd_bundle_close(bundle);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcasting_is_that_of_numpy),
        cmocka_unit_test(a_symbol_that_is_set_is_what_all_views_say),
        cmocka_unit_test(every_contract_of_the_table_makes_calls_in_each_dtype),
        cmocka_unit_test(contents_depend_on_the_seed_and_the_operand_only),
        cmocka_unit_test(the_contract_says_what_an_input_holds),
        cmocka_unit_test(a_call_with_data_comes_back_from_a_bundle),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
