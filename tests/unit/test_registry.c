/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators and routines: complete, consistent, every operator with a reference. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

static void *find_dgemm(void *argument)
{
    (void)argument;
    const opd_routine *routine = opd_routine_find("dgemm");
    opd_call call;
    bool ok = routine != NULL && opd_call_init(&call, routine->op, routine->name, routine->dtype) == OPD_OK &&
              call.operand_count == 3;
    return ok ? (void *)"ok" : NULL;
}

/* Runs first: the contracts are compiled by whichever thread comes first. */
static void threads_may_race_for_the_first_use(void **state)
{
    (void)state;
    pthread_t threads[8];
    for (size_t i = 0; i < OPD_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, find_dgemm, NULL), 0);
    }
    for (size_t i = 0; i < OPD_COUNT(threads); i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
    }
}

static void every_routine_of_the_blas_is_there(void **state)
{
    (void)state;
    static const char names[] =
        "sscal dscal cscal zscal csscal zdscal saxpy daxpy caxpy zaxpy saxpby daxpby caxpby zaxpby scopy dcopy ccopy zcopy "
        "sswap dswap cswap zswap sdot ddot cdotu zdotu cdotc zdotc sdsdot dsdot snrm2 dnrm2 scnrm2 dznrm2 sasum dasum "
        "scasum dzasum isamax idamax icamax izamax srot drot csrot zdrot crot zrot srotg drotg crotg zrotg srotm drotm srotmg drotmg "
        "sgemv dgemv cgemv zgemv sgbmv dgbmv cgbmv zgbmv sger dger cgeru zgeru cgerc zgerc ssymv dsymv chemv zhemv ssbmv "
        "dsbmv chbmv zhbmv sspmv dspmv chpmv zhpmv ssyr dsyr cher zher sspr dspr chpr zhpr ssyr2 dsyr2 cher2 zher2 sspr2 "
        "dspr2 chpr2 zhpr2 strmv dtrmv ctrmv ztrmv strsv dtrsv ctrsv ztrsv stbmv dtbmv ctbmv ztbmv stbsv dtbsv ctbsv ztbsv "
        "stpmv dtpmv ctpmv ztpmv stpsv dtpsv ctpsv ztpsv sgemm dgemm cgemm zgemm cgemm3m zgemm3m ssymm dsymm csymm zsymm "
        "chemm zhemm ssyrk dsyrk csyrk zsyrk cherk zherk ssyr2k dsyr2k csyr2k zsyr2k cher2k zher2k strmm dtrmm ctrmm ztrmm "
        "strsm dtrsm ctrsm ztrsm somatcopy domatcopy comatcopy zomatcopy simatcopy dimatcopy cimatcopy zimatcopy "
        "csymv zsymv csbmv zsbmv cspmv zspmv csyr zsyr cspr zspr csyr2 zsyr2 cspr2 zspr2";
    char copy[sizeof names];
    memcpy(copy, names, sizeof names);
    int count = 0;
    char *rest = NULL;
    for (char *name = strtok_r(copy, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
        const opd_routine *routine = opd_routine_find(name);
        if (routine == NULL) {
            fail_msg("no routine %s", name);
        }
        assert_ptr_equal(opd_routine_at(routine->id), routine);
        count++;
    }
    assert_int_equal(count, opd_routine_count());
    assert_null(opd_routine_find("dgemmx"));
    assert_null(opd_routine_at(-1));
    assert_null(opd_routine_at(opd_routine_count()));
}

static void every_contract_is_found_by_its_name(void **state)
{
    (void)state;
    assert_int_equal(opd_ops_compile(), OPD_OK);
    for (int i = 0; i < opd_op_count(); i++) {
        const opd_op *op = opd_op_at(i);
        assert_ptr_equal(opd_op_find(op->domain, op->name), op);
        assert_non_null(op->summary);
        assert_true(op->determinism != OPD_DETERMINISM_NONE);
    }
    assert_null(opd_op_at(opd_op_count()));
    assert_null(opd_op_at(-1));
    assert_null(opd_op_find("blas", "gemmx"));
    assert_null(opd_op_find("ai.onnx", "gemm"));
}

/* A call of every routine at default values, on zeros: cost and text are there, and a reference computes each output. */
static void every_operator_has_cost_text_and_reference(void **state)
{
    (void)state;
    for (int id = 0; id < opd_routine_count(); id++) {
        const opd_routine *routine = opd_routine_at(id);
        opd_call call;
        assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
        for (int i = 0; i < call.symbol_count; i++) {
            assert_int_equal(opd_call_set(&call, call.symbols[i].name, 4), OPD_OK);
        }
        assert_int_equal(opd_call_compact(&call), OPD_OK);
        assert_true(opd_call_flops(&call) >= 0);
        assert_true(opd_call_bytes(&call) > 0);
        int64_t reduction = -1;
        assert_int_equal(opd_call_eval(&reduction, &call, routine->op->reduction), OPD_OK);
        assert_true(reduction >= 0);
        int outputs = 0;
        for (int i = 0; i < call.operand_count; i++) {
            call.operands[i].view.data = calloc(256, 16);
        }
        /* Zeros are a degenerate rotation. */
        opd_operand *d1 = opd_call_operand(&call, "d1");
        if (d1 != NULL) {
            opd_element_store(d1->view.dtype, d1->view.data, 1, 0);
        }
        for (int i = 0; i < call.operand_count; i++) {
            long double value[512];
            long double gauge[256];
            if ((call.operands[i].role & OPD_ROLE_OUT) != 0) {
                assert_int_equal(opd_reference_run(value, gauge, &call, i), OPD_OK);
                assert_int_equal(opd_naive_run(value, &call, i), OPD_OK);
                outputs++;
            } else {
                assert_int_equal(opd_reference_run(value, gauge, &call, i), OPD_E_INVALID);
            }
        }
        assert_true(outputs > 0);
        for (int i = 0; i < call.operand_count; i++) {
            free(call.operands[i].view.data);
        }
    }
}

static void calls_that_do_not_fit_their_contract_are_refused(void **state)
{
    (void)state;
    const opd_routine *routine = opd_routine_find("dgemm");
    opd_call call;
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    opd_call bad = call;
    bad.symbol_count = 2;
    assert_int_equal(opd_call_bind(&bad), OPD_E_INVALID);
    bad = call;
    bad.attrs[0].kind = OPD_VALUE_TEXT;
    assert_int_equal(opd_call_bind(&bad), OPD_E_INVALID);
    bad = call;
    memset(bad.symbols[0].name, 'x', sizeof bad.symbols[0].name);
    assert_int_equal(opd_call_bind(&bad), OPD_E_INVALID);
    bad = call;
    bad.op = NULL;
    assert_int_equal(opd_call_bind(&bad), OPD_E_INVALID);
    opd_op foreign = *routine->op;
    bad = call;
    bad.op = &foreign;
    assert_int_equal(opd_call_bind(&bad), OPD_E_INVALID);
    assert_int_equal(opd_call_bind(&call), OPD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_may_race_for_the_first_use),
        cmocka_unit_test(every_routine_of_the_blas_is_there),
        cmocka_unit_test(every_contract_is_found_by_its_name),
        cmocka_unit_test(every_operator_has_cost_text_and_reference),
        cmocka_unit_test(calls_that_do_not_fit_their_contract_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
