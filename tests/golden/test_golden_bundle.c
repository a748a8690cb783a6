/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle of format version 1 that is kept for ever reads as it always did. The expected values stand here as literals.
 *
 *     test_golden_bundle DIRECTORY
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>

static char path[4096];

static void surroundings_read_as_written(void **state)
{
    opd_bundle *bundle = NULL;
    uint32_t pid = 0;
    uint32_t tid = 0;

    (void)state;
    assert_int_equal(opd_bundle_open(&bundle, path), OPD_OK);
    const opd_header_info *header = opd_bundle_header(bundle);
    assert_int_equal(header->version, 1);
    assert_string_equal(header->producer, "write_golden");
    assert_string_equal(header->kind, "failure");
    assert_string_equal(header->command, "prog --flag");
    assert_string_equal(header->capture, "inputs");
    assert_true(header->created_realtime_ns == 1700000000000000000u);
    assert_int_equal(header->pid, 4242);
    const opd_environment_info *environment = opd_bundle_environment(bundle);
    assert_string_equal(environment->isa, "sse2 avx2 fma");
    assert_int_equal(environment->mxcsr, 0x1f80);
    assert_int_equal(environment->l3_bytes, 0);
    const opd_module *module = opd_bundle_module(bundle, 1);
    assert_string_equal(module->path, "/usr/lib/libopenblas.so.0");
    assert_string_equal(module->core, "Haswell");
    assert_true(module->end == 0x7f0002000000);
    assert_string_equal(opd_bundle_thread(bundle, 0, &pid, &tid), "worker");
    assert_int_equal(tid, 4243);
    const opd_event *event = opd_bundle_event(bundle, 0);
    assert_string_equal(event->name, "layer 3");
    assert_int_equal(event->value, -7);
    const opd_failure *failure = opd_bundle_failure(bundle, 0);
    assert_int_equal(failure->outcome, OPD_OUTCOME_NAN_BORN);
    assert_int_equal(failure->index_rank, 1);
    assert_true(failure->confidence == 0.5f);
    assert_string_equal(failure->reason, "NaN in y, none in x");
    assert_int_equal(opd_bundle_frame_count(bundle, 4243), 2);
    assert_string_equal(opd_bundle_frame(bundle, 4243, 0)->symbol, "daxpy_kernel+0x34");
    assert_string_equal(opd_bundle_lineage(bundle, 0)->step, "n: 777 -> 3");
    assert_false(opd_bundle_state_of(bundle)->is_partial);
    opd_bundle_damage(bundle, NULL, NULL);
    assert_int_equal(opd_bundle_state_of(bundle)->damaged, 0);
    assert_int_equal(opd_bundle_state_of(bundle)->unknown, 0);
    opd_bundle_close(bundle);
}

static void calls_and_data_read_as_written(void **state)
{
    opd_bundle *bundle = NULL;
    opd_call call;
    opd_case item;
    uint64_t position = 99;

    (void)state;
    assert_int_equal(opd_bundle_open(&bundle, path), OPD_OK);
    assert_int_equal(opd_bundle_call_count(bundle), 2);
    assert_int_equal(opd_bundle_find_call(&position, bundle, 4243, 17), OPD_OK);
    assert_int_equal(position, 0);
    assert_int_equal(opd_bundle_call(&call, bundle, 0), OPD_OK);
    assert_string_equal(call.symbol, "cblas_daxpy");
    assert_ptr_equal(call.op, opd_routine_find("daxpy")->op);
    assert_int_equal(call.flags, OPD_CALL_CBLAS);
    assert_true(call.op_id == 0x1122334455667788);
    assert_int_equal(call.begin_ns, 1000);
    assert_int_equal(call.end_ns, 1250);
    assert_int_equal(call.mxcsr, 0); /* written before calls said their floating-point mode */
    assert_int_equal(call.queued_ns, 0);
    assert_int_equal(opd_call_value(&call, "n")->i, 3);
    assert_true(opd_call_value(&call, "alpha")->re == -0.5);
    assert_int_equal(opd_call_value(&call, "incy")->i, -1);
    const opd_operand *y = opd_call_operand(&call, "y");
    assert_int_equal(y->view.stride[0], -1);
    assert_int_equal(y->health_after.nan, 1);
    assert_true(y->health_after.max == 1.5);
    assert_int_equal(y->after.bytes[0], 0xee);
    assert_int_equal(opd_case_load(&item, bundle, &call, 1 << 20), OPD_OK);
    const double *x = item.call.operands[0].view.data;
    const double *from_y = item.call.operands[1].view.data;
    assert_true(x[0] == 1 && x[2] == -2 && x[4] == 0.25);
    assert_true(from_y[0] == 3 && from_y[-1] == 2 && from_y[-2] == 1);
    assert_int_equal((uintptr_t)x % 4096, 0);
    assert_int_equal((uintptr_t)from_y % 4096, 0x10);
    opd_case_done(&item);

    assert_int_equal(opd_bundle_call(&call, bundle, 1), OPD_OK);
    assert_null(call.op);
    assert_string_equal(call.domain, "com.example");
    assert_string_equal(call.name, "Swirl");
    assert_int_equal(call.flags, OPD_CALL_IN_FLIGHT);
    assert_int_equal(call.seed, 99);
    assert_int_equal(call.end_ns, 0);
    assert_int_equal(call.operands[0].view.mask.kind, OPD_MASK_LOWER);
    assert_int_equal(call.operands[0].view.dtype, OPD_BF16);
    assert_int_equal(call.operands[0].flags, OPD_OPERAND_NOT_KEPT);
    opd_bundle_close(bundle);
}

static void a_constant_tensor_reads_as_written(void **state)
{
    float zeros[100] = { 0 };
    float back[100];
    opd_bundle *bundle = NULL;
    opd_tensor view;

    (void)state;
    assert_int_equal(opd_bundle_open(&bundle, path), OPD_OK);
    assert_int_equal(opd_tensor_contiguous(&view, OPD_F32, 1, (int64_t[]){ 100 }, zeros), OPD_OK);
    opd_digest digest = opd_tensor_digest(&view);
    assert_int_equal(opd_bundle_tensor(back, sizeof(back), bundle, &digest, &view), OPD_OK);
    assert_memory_equal(back, zeros, sizeof(zeros));
    opd_bundle_close(bundle);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(surroundings_read_as_written),
        cmocka_unit_test(calls_and_data_read_as_written),
        cmocka_unit_test(a_constant_tensor_reads_as_written),
    };

    snprintf(path, sizeof(path), "%s/every_kind.opsb", argc > 1 ? argv[1] : ".");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
