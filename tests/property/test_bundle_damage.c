/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage to a small bundle, exhaustively: cut after every byte, every byte flipped. What was not touched stays readable.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>

#include "bundle_make.h"

#define CALLS       3
#define RECORDS_MAX 64

/* Where the records of an intact bundle are, found by walking lengths only. */
typedef struct outline {
    size_t offset[RECORDS_MAX + 1];
    uint32_t kind[RECORDS_MAX];
    int count;
} outline;

static uint64_t read_varint(const uint8_t *bytes, size_t *at)
{
    uint64_t value = 0;

    for (int shift = 0;; shift += 7) {
        uint8_t byte = bytes[(*at)++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
}

static void take_outline(outline *out, const memory_file *file)
{
    size_t at = 0;

    out->count = 0;
    while (at < file->size) {
        assert_true(out->count < RECORDS_MAX);
        out->offset[out->count] = at++;
        uint64_t length = read_varint(file->bytes, &at);
        size_t kind_at = at + 20;
        out->kind[out->count++] = (uint32_t)(read_varint(file->bytes, &kind_at) >> 3);
        at += length;
    }
    assert_int_equal(at, file->size);
    out->offset[out->count] = at;
}

static int records_of_kind(const outline *of, uint32_t kind, int before)
{
    int count = 0;

    for (int i = 0; i < before; i++) {
        count += of->kind[i] == kind;
    }
    return count;
}

/* Calls of the batches in records [0, before), all of which must be readable; each batch here has one call. */
static void check_calls(const opd_bundle *bundle, uint64_t expected)
{
    opd_call call;

    assert_int_equal(opd_bundle_call_count(bundle), expected);
    for (uint64_t i = 0; i < expected; i++) {
        assert_int_equal(opd_bundle_call(&call, bundle, i), OPD_OK);
        assert_string_equal(call.name, "saxpy");
    }
}

static void cutting_anywhere_leaves_all_earlier_records(void **state)
{
    memory_file file;
    outline of;

    (void)state;
    make_bundle(&file, 5, CALLS);
    take_outline(&of, &file);
    for (size_t cut = 0; cut < file.size; cut++) {
        opd_bundle *bundle = NULL;
        int whole = 0;
        while (whole < of.count && of.offset[whole + 1] <= cut) {
            whole++;
        }
        opd_error_clear();
        opd_status status = opd_bundle_open_memory(&bundle, file.bytes, cut);
        if (whole == 0) {
            assert_int_equal(status, OPD_E_FORMAT);
            assert_true(strlen(opd_error_text()) > 0);
            continue;
        }
        assert_int_equal(status, OPD_OK);
        const opd_bundle_state *seen = opd_bundle_state_of(bundle);
        assert_true(seen->is_partial);
        assert_int_equal(seen->records, whole - records_of_kind(&of, 2030, whole));
        assert_int_equal(seen->damaged, cut != of.offset[whole]);
        if (seen->damaged) {
            assert_int_equal(seen->first_damage, of.offset[whole]);
        }
        check_calls(bundle, (uint64_t)records_of_kind(&of, 2014, whole));
        assert_int_equal(opd_bundle_module_count(bundle), records_of_kind(&of, 2012, whole));
        assert_int_equal(opd_bundle_event_count(bundle), records_of_kind(&of, 2017, whole));
        assert_int_equal(opd_bundle_failure_count(bundle), records_of_kind(&of, 2018, whole));
        opd_bundle_close(bundle);
    }
    opd_free(file.bytes);
}

/* Damage as reported, to compare with where the flip was. */
typedef struct report {
    int count;
    uint64_t offset, bytes;
} report;

static void take_report(void *context, uint64_t offset, uint64_t bytes, const char *text)
{
    report *to = context;
    char expected[64];

    snprintf(expected, sizeof(expected), "record at offset %llu: ", (unsigned long long)offset);
    assert_memory_equal(text, expected, strlen(expected));
    to->count++;
    to->offset = offset;
    to->bytes = bytes;
}

/* Readable content of operands' tensors. */
static int readable_tensors(const opd_bundle *bundle)
{
    int count = 0;
    opd_call call;
    float data[6];

    for (uint64_t i = 0; i < opd_bundle_call_count(bundle); i++) {
        assert_int_equal(opd_bundle_call(&call, bundle, i), OPD_OK);
        for (int k = 0; k < call.operand_count; k++) {
            count += opd_bundle_tensor(data, sizeof(data), bundle, &call.operands[k].before, &call.operands[k].view) ==
                     OPD_OK;
        }
    }
    return count;
}

static void check_flipped(const memory_file *file, const outline *of, int record)
{
    opd_bundle *bundle = NULL;
    report seen = { 0 };
    uint32_t kind = of->kind[record];

    assert_int_equal(opd_bundle_open_memory(&bundle, file->bytes, file->size), OPD_OK);
    opd_bundle_damage(bundle, take_report, &seen);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.offset, of->offset[record]);
    assert_int_equal(seen.bytes, of->offset[record + 1] - of->offset[record]);
    assert_int_equal(opd_bundle_state_of(bundle)->damaged, 1);
    assert_int_equal(opd_bundle_state_of(bundle)->first_damage, of->offset[record]);
    assert_int_equal(opd_bundle_call_count(bundle), CALLS - (kind == 2014));
    assert_int_equal(opd_bundle_event_count(bundle), 1 - (kind == 2017));
    assert_int_equal(opd_bundle_failure_count(bundle), 1 - (kind == 2018));
    assert_int_equal(opd_bundle_lineage_count(bundle), 1 - (kind == 2020));
    assert_int_equal(opd_bundle_thread_count(bundle), 1 - (kind == 2013));
    assert_int_equal(opd_bundle_frame_count(bundle, 1000), kind == 2019 ? 0 : 3);
    assert_int_equal(opd_bundle_environment(bundle) == NULL, kind == 2011);
    if (kind == 2014) {
        assert_int_equal(readable_tensors(bundle), 2 * (CALLS - 1));
    } else {
        assert_int_equal(readable_tensors(bundle), 2 * CALLS - (kind == 2015));
    }
    opd_bundle_close(bundle);
}

static void a_flipped_byte_costs_its_record_only(void **state)
{
    static const uint8_t masks[] = { 0x01, 0x80, 0xff };
    memory_file file;
    outline of;

    (void)state;
    make_bundle(&file, 6, CALLS);
    take_outline(&of, &file);
    for (int record = 0; record < of.count; record++) {
        for (size_t at = of.offset[record]; at < of.offset[record + 1]; at++) {
            for (size_t m = 0; m < OPD_COUNT(masks); m++) {
                file.bytes[at] ^= masks[m];
                check_flipped(&file, &of, record);
                file.bytes[at] ^= masks[m];
            }
        }
    }
    opd_free(file.bytes);
}

static void a_bundle_inside_a_tensor_is_not_mistaken_for_records(void **state)
{
    memory_file inner;
    memory_file outer;
    opd_header_info header = { .kind = "run" };
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    opd_tensor view;

    (void)state;
    make_bundle(&inner, 7, CALLS);
    assert_int_equal(opd_writer_open_sink(&writer, make_sink(&outer), &header), OPD_OK);
    assert_int_equal(opd_tensor_contiguous(&view, OPD_U8, 1, (int64_t[]){ (int64_t)inner.size }, inner.bytes), OPD_OK);
    opd_digest digest = opd_tensor_digest(&view);
    uint64_t tensor_at = opd_writer_size(writer);
    assert_int_equal(opd_writer_tensor(writer, &digest, &view, inner.bytes), OPD_OK);
    assert_int_equal(opd_writer_close(writer), OPD_OK);
    outer.bytes[tensor_at + 30] ^= 1; /* in the tensor's own record: a reader must search on through its data */
    assert_int_equal(opd_bundle_open_memory(&bundle, outer.bytes, (size_t)outer.size - 1), OPD_OK);
    assert_int_equal(opd_bundle_call_count(bundle), 0);
    assert_int_equal(opd_bundle_state_of(bundle)->first_damage, tensor_at);
    opd_bundle_close(bundle);
    opd_free(inner.bytes);
    opd_free(outer.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cutting_anywhere_leaves_all_earlier_records),
        cmocka_unit_test(a_flipped_byte_costs_its_record_only),
        cmocka_unit_test(a_bundle_inside_a_tensor_is_not_mistaken_for_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
