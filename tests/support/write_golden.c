/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the bundle that tests/golden/bundles holds for the current format version: every kind of record once, fixed content. Run it when a
 * format version is added, never to change an old one.
 *
 *     write_golden FILE
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/bundle.h>

static void check(opd_status status)
{
    if (status != OPD_OK) {
        fprintf(stderr, "write_golden: %s\n", opd_error_text());
        exit(3);
    }
}

#define TEXT(field, value) snprintf(field, sizeof(field), "%s", value)

static void write_surroundings(opd_writer *writer)
{
    opd_environment_info environment = { .cpu_count = 2, .l1d_bytes = 32768, .l2_bytes = 524288, .mxcsr = 0x1f80 };
    opd_module module = { .start = 0x7f0000000000, .end = 0x7f0002000000, .threads = 2 };
    opd_event event = { .thread = 4243, .time_ns = 1500, .value = -7 };
    uint32_t number = 0;

    TEXT(environment.cpu_model, "A CPU");
    TEXT(environment.isa, "sse2 avx2 fma");
    TEXT(environment.variables, "OMP_NUM_THREADS=2\n");
    check(opd_writer_environment(writer, &environment));
    TEXT(module.path, "/usr/lib/libopenblas.so.0");
    TEXT(module.build_id, "0123456789abcdef");
    TEXT(module.core, "Haswell");
    check(opd_writer_module(writer, &number, &module));
    check(opd_writer_thread(writer, 4242, 4243, "worker"));
    TEXT(event.kind, "mark");
    TEXT(event.name, "layer 3");
    check(opd_writer_event(writer, &event));
}

static opd_value *add_value(opd_value *values, int32_t *count, const char *name, opd_value_kind kind)
{
    opd_value *value = &values[(*count)++];

    TEXT(value->name, name);
    value->kind = kind;
    return value;
}

/* y = alpha x + y, n = 3, incx = 2, incy = -1: x has gaps, y runs backwards; y gets a NaN. */
static void fill_axpy(opd_call *call, double *x, double *y)
{
    opd_operand *operand = NULL;

    *call = (opd_call){ .dtype = OPD_F64,
                        .flags = OPD_CALL_CBLAS,
                        .pid = 4242,
                        .thread = 4243,
                        .number = 17,
                        .op_id = 0x1122334455667788,
                        .provider = 1,
                        .begin_ns = 1000,
                        .end_ns = 1250 };
    TEXT(call->domain, "blas");
    TEXT(call->name, "daxpy");
    TEXT(call->symbol, "cblas_daxpy");
    add_value(call->symbols, &call->symbol_count, "n", OPD_VALUE_INT)->i = 3;
    add_value(call->attrs, &call->attr_count, "alpha", OPD_VALUE_REAL)->re = -0.5;
    add_value(call->attrs, &call->attr_count, "incx", OPD_VALUE_INT)->i = 2;
    add_value(call->attrs, &call->attr_count, "incy", OPD_VALUE_INT)->i = -1;
    call->operand_count = 2;
    operand = &call->operands[0];
    TEXT(operand->name, "x");
    operand->role = OPD_ROLE_IN;
    operand->address = 0x1000;
    operand->view = (opd_tensor){ .data = x, .dtype = OPD_F64, .rank = 1, .shape = { 3 }, .stride = { 2 } };
    operand = &call->operands[1];
    TEXT(operand->name, "y");
    operand->role = OPD_ROLE_INOUT;
    operand->flags = OPD_OPERAND_HAS_HEALTH;
    operand->address = 0x2010;
    operand->view = (opd_tensor){ .data = y + 2, .dtype = OPD_F64, .rank = 1, .shape = { 3 }, .stride = { -1 } };
    operand->health_before =
        (opd_health){ .count = 3, .min = 1, .max = 3, .mean = 2, .first_nan = -1, .first_inf = -1 };
    operand->health_after =
        (opd_health){ .count = 3, .nan = 1, .min = 0.5, .max = 1.5, .mean = 1, .first_nan = 2, .first_inf = -1 };
    operand->after.bytes[0] = 0xee;
}

/* An operator no build knows, still running: no values, a triangle, no data. */
static void fill_unknown(opd_call *call)
{
    opd_operand *operand = &call->operands[0];

    *call = (opd_call){ .dtype = OPD_BF16,
                        .flags = OPD_CALL_IN_FLIGHT,
                        .pid = 4242,
                        .thread = 4242,
                        .number = 1,
                        .begin_ns = 1100,
                        .seed = 99,
                        .operand_count = 1 };
    TEXT(call->domain, "com.example");
    TEXT(call->name, "Swirl");
    TEXT(operand->name, "T");
    operand->role = OPD_ROLE_IN;
    operand->flags = OPD_OPERAND_NOT_KEPT;
    operand->view = (opd_tensor){ .dtype = OPD_BF16, .rank = 2, .shape = { 4, 4 }, .stride = { 4, 1 } };
    operand->view.mask.kind = OPD_MASK_LOWER;
}

static void write_failure(opd_writer *writer)
{
    opd_failure failure = { .outcome = OPD_OUTCOME_NAN_BORN,
                            .thread = 4243,
                            .call_number = 17,
                            .index = { 0 },
                            .index_rank = 1,
                            .bad_count = 1,
                            .confidence = 0.5f,
                            .time_ns = 1250 };
    opd_frame frames[2] = { { .address = 0x7f0000001234, .module = 1 }, { .address = 0x400500 } };
    opd_lineage lineage = { 0 };

    TEXT(failure.operand, "y");
    TEXT(failure.reason, "NaN in y, none in x");
    check(opd_writer_failure(writer, &failure));
    TEXT(frames[0].symbol, "daxpy_kernel+0x34");
    check(opd_writer_backtrace(writer, 4243, frames, 2));
    TEXT(lineage.parent, "00112233445566778899aabbccddeeff");
    TEXT(lineage.step, "n: 777 -> 3");
    TEXT(lineage.verdict, "SAME");
    check(opd_writer_lineage(writer, &lineage));
}

int main(int argc, char **argv)
{
    double x[5] = { 1, 100, -2, 100, 0.25 };
    double y[3] = { 1, 2, 3 };
    float zeros[100] = { 0 };
    opd_header_info header = { .created_realtime_ns = 1700000000000000000, .created_monotonic_ns = 900, .pid = 4242 };
    opd_writer *writer = NULL;
    opd_tensor view;
    opd_call call;

    if (argc != 2) {
        fprintf(stderr, "usage: write_golden FILE\n");
        return 2;
    }
    TEXT(header.producer, "write_golden");
    TEXT(header.kind, "failure");
    TEXT(header.program, "prog");
    TEXT(header.command, "prog --flag");
    TEXT(header.capture, "inputs");
    check(opd_writer_open(&writer, argv[1], &header));
    write_surroundings(writer);
    fill_axpy(&call, x, y);
    check(opd_writer_call_with_data(writer, &call));
    fill_unknown(&call);
    check(opd_writer_call(writer, &call));
    check(opd_writer_flush(writer));
    check(opd_tensor_contiguous(&view, OPD_F32, 1, (int64_t[]){ 100 }, zeros));
    opd_digest digest = opd_tensor_digest(&view);
    check(opd_writer_tensor(writer, &digest, &view, zeros)); /* a constant */
    write_failure(writer);
    check(opd_writer_close(writer));
    return 0;
}
