/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases: what is loaded has the values, the strides, the overlaps, the alignment and the gaps it had when recorded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>

#include "bundle_make.h"

#define LIMIT ((uint64_t)1 << 30)

/* A call with up to 8 operands added one by one. */
static void begin_call(opd_call *call)
{
    memset(call, 0, sizeof(*call));
    snprintf(call->domain, sizeof(call->domain), "test");
    snprintf(call->name, sizeof(call->name), "op");
    call->thread = 1;
    call->number = 1;
}

static opd_operand *add_operand(opd_call *call, const char *name, opd_role role, const opd_tensor *view)
{
    opd_operand *operand = &call->operands[call->operand_count++];

    snprintf(operand->name, sizeof(operand->name), "%s", name);
    operand->role = role;
    operand->view = *view;
    operand->address = (uint64_t)(uintptr_t)view->data;
    return operand;
}

/* Writes the call with its data, reads it back as a case. */
static opd_status through_bundle(opd_case *out, opd_call *call, uint64_t limit)
{
    opd_header_info header = { .kind = "run", .capture = "inputs" };
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    memory_file file;
    opd_call read;

    assert_int_equal(opd_writer_open_sink(&writer, make_sink(&file), &header), OPD_OK);
    assert_int_equal(opd_writer_call_with_data(writer, call), OPD_OK);
    assert_int_equal(opd_writer_close(writer), OPD_OK);
    assert_int_equal(opd_bundle_open_memory(&bundle, file.bytes, file.size), OPD_OK);
    assert_int_equal(opd_bundle_call(&read, bundle, 0), OPD_OK);
    opd_error_clear();
    opd_status status = opd_case_load(out, bundle, &read, limit);
    opd_bundle_close(bundle);
    opd_free(file.bytes);
    return status;
}

static void overlapping_operands_share_storage(void **state)
{
    static _Alignas(4096) double matrix[64];
    opd_tensor row = { .data = matrix + 3, .dtype = OPD_F64, .rank = 1, .shape = { 4 }, .stride = { 8 } };
    opd_tensor next = { .data = matrix + 4, .dtype = OPD_F64, .rank = 1, .shape = { 4 }, .stride = { 8 } };
    opd_tensor apart = { .data = matrix + 50, .dtype = OPD_F64, .rank = 1, .shape = { 4 }, .stride = { 1 } };
    opd_call call;
    opd_case item;

    (void)state;
    for (int i = 0; i < 64; i++) {
        matrix[i] = i;
    }
    begin_call(&call);
    add_operand(&call, "x", OPD_ROLE_IN, &row);
    add_operand(&call, "y", OPD_ROLE_INOUT, &next);
    add_operand(&call, "z", OPD_ROLE_IN, &apart);
    assert_int_equal(through_bundle(&item, &call, LIMIT), OPD_OK);
    const double *x = item.call.operands[0].view.data;
    const double *y = item.call.operands[1].view.data;
    const double *z = item.call.operands[2].view.data;
    assert_ptr_equal(y, x + 1);
    assert_int_equal(item.block_count, 2);
    assert_ptr_equal(item.call.operands[0].view.storage, item.call.operands[1].view.storage);
    assert_ptr_not_equal(item.call.operands[0].view.storage, item.call.operands[2].view.storage);
    assert_int_equal((uintptr_t)x % 4096, 3 * sizeof(double));
    assert_int_equal((uintptr_t)z % 4096, 50 * sizeof(double));
    for (int i = 0; i < 4; i++) {
        assert_true(x[8 * i] == 3 + 8 * i);
        assert_true(y[8 * i] == 4 + 8 * i);
        assert_true(z[i] == 50 + i);
    }
    /* Elements of neither are gaps: the canary, whatever stood there. */
    const uint8_t *gap = (const uint8_t *)(x + 2);
    for (size_t i = 0; i < 6 * sizeof(double); i++) {
        assert_int_equal(gap[i], OPD_GAP_CANARY);
    }
    opd_case_done(&item);
}

static void negative_strides_come_back(void **state)
{
    float values[16];
    opd_tensor view = { .data = values + 12, .dtype = OPD_F32, .rank = 1, .shape = { 5 }, .stride = { -3 } };
    opd_call call;
    opd_case item;

    (void)state;
    for (int i = 0; i < 16; i++) {
        values[i] = (float)i;
    }
    begin_call(&call);
    add_operand(&call, "x", OPD_ROLE_IN, &view);
    assert_int_equal(through_bundle(&item, &call, LIMIT), OPD_OK);
    const float *x = item.call.operands[0].view.data;
    assert_int_equal((uintptr_t)x % 4096, (uintptr_t)view.data % 4096);
    assert_ptr_equal(item.call.operands[0].view.storage, x - 12);
    for (int i = 0; i < 5; i++) {
        assert_true(x[-3 * i] == (float)(12 - 3 * i));
    }
    opd_case_done(&item);
}

static void masked_elements_come_back_as_canaries(void **state)
{
    double a[9];
    opd_tensor view = { .data = a, .dtype = OPD_F64, .rank = 2, .shape = { 3, 3 }, .stride = { 1, 3 } };
    opd_call call;
    opd_case item;

    (void)state;
    for (int i = 0; i < 9; i++) {
        a[i] = i + 1;
    }
    view.mask.kind = OPD_MASK_UPPER;
    view.mask.unit = 1;
    begin_call(&call);
    add_operand(&call, "A", OPD_ROLE_IN, &view);
    assert_int_equal(through_bundle(&item, &call, LIMIT), OPD_OK);
    const double *got = item.call.operands[0].view.data;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            /* The span holds elements (0, 1) to (1, 2); what lies before or after it is not the operand's memory. */
            if (i < j) {
                assert_true(got[i + 3 * j] == a[i + 3 * j]);
            } else if (j == 1) {
                assert_true(got[i + 3 * j] != got[i + 3 * j]); /* the canary is NaN */
            }
        }
    }
    opd_case_done(&item);
}

static void an_operand_that_must_not_be_read_and_was_not_kept_is_canaries(void **state)
{
    opd_tensor view;
    opd_call call;
    opd_case item;

    (void)state;
    assert_int_equal(opd_tensor_contiguous(&view, OPD_F32, 1, (int64_t[]){ 4 }, NULL), OPD_OK);
    begin_call(&call);
    add_operand(&call, "C", OPD_ROLE_INOUT, &view)->flags = OPD_OPERAND_MUST_NOT_READ;
    add_operand(&call, "y", OPD_ROLE_OUT, &view);
    add_operand(&call, "A", OPD_ROLE_IN, &view)->flags = OPD_OPERAND_UNREADABLE;
    assert_int_equal(through_bundle(&item, &call, LIMIT), OPD_OK);
    for (int k = 0; k < 2; k++) {
        const float *data = item.call.operands[k].view.data;
        assert_non_null(data);
        for (int i = 0; i < 4; i++) {
            assert_true(data[i] != data[i]);
        }
    }
    assert_null(item.call.operands[2].view.data);
    opd_case_done(&item);
}

static void a_needed_input_without_content_is_named(void **state)
{
    opd_tensor view;
    opd_call call;
    opd_case item;

    (void)state;
    assert_int_equal(opd_tensor_contiguous(&view, OPD_F32, 1, (int64_t[]){ 4 }, NULL), OPD_OK);
    begin_call(&call);
    opd_operand *operand = add_operand(&call, "left", OPD_ROLE_IN, &view);
    assert_int_equal(through_bundle(&item, &call, LIMIT), OPD_E_NOTFOUND);
    assert_non_null(strstr(opd_error_text(), "operand left"));
    operand->before.bytes[0] = 0xab;
    assert_int_equal(through_bundle(&item, &call, LIMIT), OPD_E_NOTFOUND);
    assert_non_null(strstr(opd_error_text(), "ab000000"));
    operand->flags = OPD_OPERAND_NOT_KEPT;
    assert_int_equal(through_bundle(&item, &call, LIMIT), OPD_E_NOTFOUND);
    assert_non_null(strstr(opd_error_text(), "too large for the recording budget"));
}

static void the_limit_holds(void **state)
{
    static float values[1000];
    opd_tensor view;
    opd_call call;
    opd_case item;

    (void)state;
    assert_int_equal(opd_tensor_contiguous(&view, OPD_F32, 1, (int64_t[]){ 1000 }, values), OPD_OK);
    begin_call(&call);
    add_operand(&call, "x", OPD_ROLE_IN, &view);
    assert_int_equal(through_bundle(&item, &call, 3999), OPD_E_LIMIT);
    assert_int_equal(through_bundle(&item, &call, 4000), OPD_OK);
    opd_case_done(&item);
}

/* x of 3 elements, 8 GiB apart: more than this machine would give, yet only three pages are used. */
static void a_huge_stride_is_mapped_sparse(void **state)
{
    int64_t stride = -((int64_t)1 << 30) - 1;
    size_t span = (size_t)(-2 * stride + 1) * sizeof(double);
    char *memory = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    double *start = (double *)(void *)memory - 2 * stride;
    opd_tensor view = { .data = start, .dtype = OPD_F64, .rank = 1, .shape = { 3 }, .stride = { stride } };
    opd_call call;
    opd_case item;
    opd_case copy;

    (void)state;
    if (memory == MAP_FAILED) {
        skip();
    }
    for (int i = 0; i < 3; i++) {
        start[i * stride] = i + 0.5;
    }
    begin_call(&call);
    add_operand(&call, "x", OPD_ROLE_INOUT, &view);
    assert_int_equal(through_bundle(&item, &call, 1 << 20), OPD_OK);
    assert_true(item.blocks[0].is_sparse);
    assert_int_equal(opd_case_copy(&copy, &item), OPD_OK);
    for (int i = 0; i < 3; i++) {
        assert_true(((double *)item.call.operands[0].view.data)[i * stride] == i + 0.5);
        assert_true(((double *)copy.call.operands[0].view.data)[i * stride] == i + 0.5);
    }
    assert_int_equal((uintptr_t)copy.call.operands[0].view.data % 4096, (uintptr_t)start % 4096);
    opd_case_done(&copy);
    opd_case_done(&item);
    munmap(memory, span);
}

static void a_copy_keeps_overlap_and_alignment_and_is_apart(void **state)
{
    static _Alignas(4096) float values[32];
    opd_tensor a = { .data = values + 5, .dtype = OPD_F32, .rank = 1, .shape = { 10 }, .stride = { 1 } };
    opd_tensor b = { .data = values + 9, .dtype = OPD_F32, .rank = 1, .shape = { 4 }, .stride = { 2 } };
    float outside[3] = { 1, 2, 3 };
    opd_call call;
    opd_case item;
    opd_case copy;

    (void)state;
    for (int i = 0; i < 32; i++) {
        values[i] = (float)i;
    }
    begin_call(&call);
    add_operand(&call, "a", OPD_ROLE_IN, &a);
    add_operand(&call, "b", OPD_ROLE_INOUT, &b);
    assert_int_equal(through_bundle(&item, &call, LIMIT), OPD_OK);
    /* One more operand that lies in no block, and one that is NULL. */
    opd_tensor c;
    assert_int_equal(opd_tensor_contiguous(&c, OPD_F32, 1, (int64_t[]){ 3 }, outside), OPD_OK);
    add_operand(&item.call, "c", OPD_ROLE_IN, &c);
    c.data = NULL;
    add_operand(&item.call, "d", OPD_ROLE_IN, &c);
    assert_int_equal(opd_case_copy(&copy, &item), OPD_OK);
    char *from = item.call.operands[0].view.data;
    char *to = copy.call.operands[0].view.data;
    assert_ptr_not_equal(from, to);
    assert_int_equal((uintptr_t)from % 4096, (uintptr_t)to % 4096);
    assert_int_equal((char *)copy.call.operands[1].view.data - to, 4 * (int)sizeof(float));
    assert_memory_equal(from, to, 10 * sizeof(float));
    assert_memory_equal(copy.call.operands[2].view.data, outside, sizeof(outside));
    assert_ptr_not_equal(copy.call.operands[2].view.data, outside);
    assert_null(copy.call.operands[3].view.data);
    memset(to, 0, sizeof(float));
    assert_true(*(float *)(void *)from == 5);
    assert_true(item.call.operands[0].address == copy.call.operands[0].address);
    opd_case_done(&copy);
    opd_case_done(&item);
}

static void allocation_is_zeroed_and_keeps_address_mod_64(void **state)
{
    opd_tensor view = { .dtype = OPD_F64, .rank = 2, .shape = { 3, 4 }, .stride = { -5, 1 } };
    opd_call call;
    opd_case item;

    (void)state;
    begin_call(&call);
    add_operand(&call, "x", OPD_ROLE_IN, &view)->address = 1000 * 64 + 24;
    add_operand(&call, "y", OPD_ROLE_OUT, &view)->address = 1000 * 64 + 24;
    assert_int_equal(opd_case_allocate(&item, &call, LIMIT), OPD_OK);
    assert_int_equal(item.block_count, 2);
    for (int k = 0; k < 2; k++) {
        const double *data = item.call.operands[k].view.data;
        assert_int_equal((uintptr_t)data % 64, 24);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 4; j++) {
                assert_true(data[-5 * i + j] == 0);
            }
        }
    }
    opd_case_done(&item);
    assert_int_equal(opd_case_allocate(&item, &call, 111), OPD_E_LIMIT);
}

static void equal_cases_have_equal_ids_and_others_do_not(void **state)
{
    float x[4] = { 1, 2, 3, 4 };
    float y[4] = { 5, 6, 7, 8 };
    opd_tensor view;
    opd_call call;
    opd_case item;
    opd_case copy;

    (void)state;
    begin_call(&call);
    assert_int_equal(opd_tensor_contiguous(&view, OPD_F32, 1, (int64_t[]){ 4 }, x), OPD_OK);
    add_operand(&call, "x", OPD_ROLE_IN, &view);
    view.data = y;
    add_operand(&call, "y", OPD_ROLE_INOUT, &view);
    assert_int_equal(through_bundle(&item, &call, LIMIT), OPD_OK);
    assert_int_equal(opd_case_copy(&copy, &item), OPD_OK);
    copy.call.number = 77;
    copy.call.begin_ns = 1;
    opd_digest id = opd_case_id(&item);
    opd_digest other = opd_case_id(&copy);
    assert_memory_equal(&id, &other, sizeof(id));
    opd_case unloaded = { .call = item.call };
    unloaded.call.operands[0].view.data = NULL;
    unloaded.call.operands[1].view.data = NULL;
    other = opd_case_id(&unloaded);
    assert_memory_equal(&id, &other, sizeof(id));
    ((float *)copy.call.operands[0].view.data)[2] = -1;
    other = opd_case_id(&copy);
    assert_memory_not_equal(&id, &other, sizeof(id));
    ((float *)copy.call.operands[0].view.data)[2] = 3;
    copy.call.flags ^= OPD_CALL_ROW_MAJOR;
    other = opd_case_id(&copy);
    assert_memory_not_equal(&id, &other, sizeof(id));
    copy.call.flags ^= OPD_CALL_ROW_MAJOR;
    copy.call.order = 7; /* of a call whose order is none, only */
    other = opd_case_id(&copy);
    assert_memory_equal(&id, &other, sizeof(id));
    copy.call.flags |= OPD_CALL_BAD_ORDER;
    opd_digest of_seven = opd_case_id(&copy);
    assert_memory_not_equal(&id, &of_seven, sizeof(id));
    copy.call.order = 8;
    other = opd_case_id(&copy);
    assert_memory_not_equal(&of_seven, &other, sizeof(id));
    copy.call.flags ^= OPD_CALL_BAD_ORDER;
    copy.call.mxcsr = OPD_MXCSR_DEFAULT | OPD_MXCSR_FTZ;
    other = opd_case_id(&copy);
    assert_memory_not_equal(&id, &other, sizeof(id));
    copy.call.mxcsr = item.call.mxcsr;
    copy.call.operands[1].view.data = copy.call.operands[0].view.data; /* now they overlap */
    other = opd_case_id(&copy);
    assert_memory_not_equal(&id, &other, sizeof(id));
    opd_case_done(&copy);
    opd_case_done(&item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_operands_share_storage),
        cmocka_unit_test(negative_strides_come_back),
        cmocka_unit_test(masked_elements_come_back_as_canaries),
        cmocka_unit_test(an_operand_that_must_not_be_read_and_was_not_kept_is_canaries),
        cmocka_unit_test(a_needed_input_without_content_is_named),
        cmocka_unit_test(the_limit_holds),
        cmocka_unit_test(a_huge_stride_is_mapped_sparse),
        cmocka_unit_test(a_copy_keeps_overlap_and_alignment_and_is_apart),
        cmocka_unit_test(allocation_is_zeroed_and_keeps_address_mod_64),
        cmocka_unit_test(equal_cases_have_equal_ids_and_others_do_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
