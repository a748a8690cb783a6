/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles whose checks are right and whose content lies: refused with one line, before memory is taken for what they claim.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include <opsdebug/bundle.h>

#include "bundle_forge.h"

#define CHUNK ((size_t)4 << 20)

/* The text of the last failure: there, one line, holding part. */
static void check_text(const char *part)
{
    const char *text = opd_error_text();

    assert_true(strlen(text) > 0);
    assert_null(strchr(text, '\n'));
    if (!strstr(text, part)) {
        fail_msg("\"%s\" does not hold \"%s\"", text, part);
    }
}

static void open_file(opd_bundle **out, const forge *file)
{
    assert_int_equal(opd_bundle_open_memory(out, file->bytes, file->size), OPD_OK);
}

static void what_is_no_bundle_is_refused(void **state)
{
    opd_bundle *bundle = NULL;
    uint8_t noise[5000];

    (void)state;
    for (size_t i = 0; i < sizeof(noise); i++) {
        noise[i] = (uint8_t)(i * 2654435761u >> 13);
    }
    assert_int_equal(opd_bundle_open_memory(&bundle, noise, 0), OPD_E_FORMAT);
    check_text("the file is empty");
    assert_int_equal(opd_bundle_open_memory(&bundle, noise, sizeof(noise)), OPD_E_FORMAT);
    check_text("not a bundle");
    assert_int_equal(opd_bundle_open(&bundle, "/"), OPD_E_IO);
    check_text("directory");
    assert_int_equal(opd_bundle_open(&bundle, "/nonexistent/x.opsb"), OPD_E_NOTFOUND);
    check_text("/nonexistent/x.opsb");
    assert_null(bundle);
}

static void a_newer_version_is_refused(void **state)
{
    opd_bundle *bundle = NULL;
    forge file;

    (void)state;
    forge_init(&file);
    forge_header(&file, OPD_FORMAT_VERSION + 1);
    assert_int_equal(opd_bundle_open_memory(&bundle, file.bytes, file.size), OPD_E_VERSION);
    check_text("version 2");
    forge_done(&file);
}

static void an_unknown_kind_is_skipped_and_counted(void **state)
{
    opd_bundle *bundle = NULL;
    forge file;
    forge rest;

    (void)state;
    forge_init(&file);
    forge_init(&rest);
    forge_header(&file, 1);
    forge_bytes(&rest, 2999, "from the future", 15);
    forge_record(&file, &rest);
    open_file(&bundle, &file);
    assert_int_equal(opd_bundle_state_of(bundle)->unknown, 1);
    assert_int_equal(opd_bundle_state_of(bundle)->damaged, 0);
    assert_int_equal(opd_bundle_state_of(bundle)->records, 2);
    opd_bundle_close(bundle);
    forge_done(&rest);
    forge_done(&file);
}

/* A file of a header and one record whose rest is field number kind holding message, opened. */
static void open_with(opd_bundle **out, forge *file, uint32_t kind, const forge *message)
{
    forge rest;

    forge_init(file);
    forge_init(&rest);
    forge_header(file, 1);
    forge_message(&rest, kind, message);
    forge_record(file, &rest);
    open_file(out, file);
    forge_done(&rest);
}

static void records_over_their_limit_are_damage(void **state)
{
    opd_bundle *bundle = NULL;
    forge file;
    forge message;

    (void)state;
    forge_init(&message);
    forge_zeros(&message, (size_t)1 << 20); /* an event of 1 MiB of zeros is over the limit by its framing */
    open_with(&bundle, &file, 2017, &message);
    assert_int_equal(opd_bundle_state_of(bundle)->damaged, 1);
    assert_int_equal(opd_bundle_event_count(bundle), 0);
    opd_bundle_close(bundle);
    forge_done(&file);
    forge_zeros(&message, ((size_t)63 << 20) + 1);
    open_with(&bundle, &file, 2015, &message);
    assert_int_equal(opd_bundle_state_of(bundle)->damaged, 1);
    opd_bundle_close(bundle);
    forge_done(&file);
    forge_done(&message);
}

static void lengths_past_the_end_are_damage(void **state)
{
    static const uint64_t lengths[] = { 100, (uint64_t)1 << 31, (uint64_t)1 << 40, UINT64_MAX };

    (void)state;
    for (size_t i = 0; i < OPD_COUNT(lengths); i++) {
        opd_bundle *bundle = NULL;
        forge file;
        forge_init(&file);
        forge_header(&file, 1);
        forge_varint(&file, 0x0a);
        forge_varint(&file, lengths[i]);
        forge_fixed64(&file, 2000, 0x9d3c5ab2f1e6874bu);
        forge_fixed64(&file, 2001, 0);
        open_file(&bundle, &file);
        assert_int_equal(opd_bundle_state_of(bundle)->damaged, 1);
        opd_bundle_close(bundle);
        forge_done(&file);
    }
}

static void unknown_fields_by_the_million_hit_the_cap(void **state)
{
    opd_bundle *bundle = NULL;
    forge file;
    forge message;

    (void)state;
    forge_init(&message);
    while (message.size < 1000000) {
        forge_number(&message, 15, 1); /* two bytes that protobuf-c makes into two allocations */
    }
    open_with(&bundle, &file, 2017, &message);
    assert_int_equal(opd_bundle_event_count(bundle), 0);
    assert_int_equal(opd_bundle_state_of(bundle)->damaged, 1);
    opd_bundle_close(bundle);
    forge_done(&file);
    forge_done(&message);
}

/* ----------------------------------------------------------------------------------------------------- batches */

static void put_signature(forge *batch, int operands, int dims, int strides)
{
    forge signature;
    forge operand;
    int64_t numbers[64] = { 0 };

    forge_init(&signature);
    forge_init(&operand);
    forge_bytes(&signature, 2, "op", 2);
    forge_number(&operand, 4, OPD_F32);
    forge_bytes(&operand, 5, numbers, (size_t)dims); /* packed: one byte per zero */
    forge_bytes(&operand, 6, numbers, (size_t)strides);
    for (int i = 0; i < operands; i++) {
        forge_message(&signature, 11, &operand);
    }
    forge_message(batch, 2, &signature);
    forge_done(&operand);
    forge_done(&signature);
}

/* The first call of a batch of count calls whose body is batch. */
static opd_status read_first_call(const forge *batch)
{
    opd_bundle *bundle = NULL;
    opd_call call;
    forge file;

    opd_error_clear();
    open_with(&bundle, &file, 2014, batch);
    opd_status status = opd_bundle_call(&call, bundle, 0);
    opd_bundle_close(bundle);
    forge_done(&file);
    return status;
}

static void begin_batch(forge *batch, uint64_t count)
{
    forge_init(batch);
    forge_number(batch, 1, count);
    forge_bytes(batch, 3, "", 0); /* one thread, 0 0 */
}

static void a_plain_forged_batch_is_read(void **state)
{
    forge batch;

    (void)state;
    begin_batch(&batch, 2);
    put_signature(&batch, 2, 3, 3);
    assert_int_equal(read_first_call(&batch), OPD_OK);
    forge_done(&batch);
}

static void columns_of_unequal_length_are_refused(void **state)
{
    static const uint32_t columns[] = { 10, 11, 12, 14, 15, 16, 17, 18, 19, 30, 31, 40, 41, 45, 49, 50, 32 };

    (void)state;
    for (size_t i = 0; i < OPD_COUNT(columns); i++) {
        forge batch;
        begin_batch(&batch, 2);
        put_signature(&batch, 1, 1, 1);
        forge_bytes(&batch, columns[i], "\0\0\0", 3);
        assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
        check_text("column");
        check_text("record at offset");
        forge_done(&batch);
    }
}

static void indices_out_of_range_are_refused(void **state)
{
    forge batch;

    (void)state;
    begin_batch(&batch, 1);
    put_signature(&batch, 0, 0, 0);
    forge_bytes(&batch, 10, "\1", 1);
    assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
    check_text("no signature");
    forge_done(&batch);

    begin_batch(&batch, 1);
    put_signature(&batch, 0, 0, 0);
    forge_bytes(&batch, 11, "\1", 1);
    assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
    forge_done(&batch);

    begin_batch(&batch, 1); /* no signature at all */
    assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
    forge_done(&batch);
}

static void counts_over_the_limits_are_refused(void **state)
{
    forge batch;

    (void)state;
    begin_batch(&batch, 1);
    put_signature(&batch, OPD_MAX_OPERANDS + 1, 1, 1);
    assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
    check_text("33 operands");
    forge_done(&batch);

    begin_batch(&batch, 1);
    put_signature(&batch, 1, 9, 9);
    assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
    check_text("9 dimensions");
    forge_done(&batch);

    begin_batch(&batch, 1);
    put_signature(&batch, 1, 3, 2);
    assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
    forge_done(&batch);

    begin_batch(&batch, 100000); /* the index gives such a batch no call */
    put_signature(&batch, 1, 3, 3);
    assert_int_equal(read_first_call(&batch), OPD_E_NOTFOUND);
    forge_done(&batch);
}

static void a_value_with_too_many_integers_is_refused(void **state)
{
    static const uint8_t numbers[OPD_MAX_INTS + 1] = { 0 };
    forge batch;
    forge signature;
    forge value;

    (void)state;
    begin_batch(&batch, 1);
    forge_init(&signature);
    forge_init(&value);
    forge_number(&value, 2, OPD_VALUE_INTS);
    forge_bytes(&value, 7, numbers, sizeof(numbers));
    forge_message(&signature, 10, &value);
    forge_message(&batch, 2, &signature);
    assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
    check_text("9 integers");
    forge_done(&value);
    forge_done(&signature);
    forge_done(&batch);
}

static void digests_of_the_wrong_length_are_refused(void **state)
{
    forge batch;

    (void)state;
    begin_batch(&batch, 1);
    put_signature(&batch, 1, 1, 1);
    forge_bytes(&batch, 30, "\1", 1); /* has a digest before */
    forge_bytes(&batch, 33, "0123456789abcde", 15);
    assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
    check_text("digests");
    forge_done(&batch);

    begin_batch(&batch, 1);
    put_signature(&batch, 1, 1, 1);
    forge_bytes(&batch, 30, "\x40", 1); /* a part that does not exist */
    assert_int_equal(read_first_call(&batch), OPD_E_FORMAT);
    check_text("parts");
    forge_done(&batch);
}

static void a_view_that_overflows_comes_back_as_none(void **state)
{
    opd_bundle *bundle = NULL;
    opd_call call;
    forge file;
    forge batch;
    forge signature;
    forge operand;
    forge shape;

    (void)state;
    begin_batch(&batch, 1);
    forge_init(&signature);
    forge_init(&operand);
    forge_init(&shape);
    for (int i = 0; i < 4; i++) {
        forge_varint(&shape, (uint64_t)1 << 40);
    }
    forge_number(&operand, 4, OPD_F32);
    forge_message(&operand, 5, &shape);
    forge_bytes(&operand, 6, "\2\2\2\2", 4);
    forge_message(&signature, 11, &operand);
    forge_message(&batch, 2, &signature);
    open_with(&bundle, &file, 2014, &batch);
    assert_int_equal(opd_bundle_call(&call, bundle, 0), OPD_OK);
    assert_int_equal(call.operands[0].view.dtype, OPD_DTYPE_NONE);
    assert_int_equal(call.operands[0].view.rank, 0);
    opd_bundle_close(bundle);
    forge_done(&file);
    forge_done(&shape);
    forge_done(&operand);
    forge_done(&signature);
    forge_done(&batch);
}

/* ----------------------------------------------------------------------------------------------------- tensors */

typedef struct forged_chunk {
    uint64_t bytes;
    uint32_t chunk, codec, width;
    const void *data;
    size_t size;
} forged_chunk;

static void put_chunk(forge *file, const opd_digest *digest, const forged_chunk *chunk)
{
    forge rest;
    forge message;

    forge_init(&rest);
    forge_init(&message);
    forge_bytes(&message, 1, digest->bytes, sizeof(digest->bytes));
    forge_number(&message, 2, chunk->chunk);
    forge_number(&message, 3, chunk->bytes);
    forge_number(&message, 4, chunk->codec);
    forge_number(&message, 5, chunk->width);
    forge_message(&rest, 2015, &message);
    forge_bytes(&rest, 2016, chunk->data, chunk->size);
    forge_record(file, &rest);
    forge_done(&message);
    forge_done(&rest);
}

/* Reads a tensor of count bytes that is stored as one forged chunk. */
static opd_status read_forged(const forged_chunk *chunk, int64_t count)
{
    static uint8_t back[CHUNK + 64];
    opd_digest digest = { { 1, 2, 3 } };
    opd_bundle *bundle = NULL;
    opd_tensor view;
    forge file;

    opd_error_clear();
    forge_init(&file);
    forge_header(&file, 1);
    put_chunk(&file, &digest, chunk);
    open_file(&bundle, &file);
    assert_int_equal(opd_tensor_contiguous(&view, OPD_U8, 1, &count, NULL), OPD_OK);
    opd_status status = opd_bundle_tensor(back, (size_t)count, bundle, &digest, &view);
    opd_bundle_close(bundle);
    forge_done(&file);
    return status;
}

static void chunk_sizes_that_disagree_are_refused(void **state)
{
    uint8_t data[100] = { 0 };

    (void)state;
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 99, .data = data, .size = 99 }, 100), OPD_E_FORMAT);
    check_text("99 bytes, 100 are wanted");
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 100, .data = data, .size = 99 }, 100), OPD_E_FORMAT);
    check_text("raw chunk has 99 bytes");
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 100, .chunk = 1, .data = data, .size = 100 }, 100),
                     OPD_E_NOTFOUND);
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = CHUNK + 50, .data = data, .size = 100 }, CHUNK + 50),
                     OPD_E_FORMAT);
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 100, .codec = 9, .data = data, .size = 100 }, 100),
                     OPD_E_UNSUPPORTED);
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 100, .codec = 3, .width = 3, .data = data, .size = 3 }, 100),
                     OPD_E_FORMAT);
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 100, .codec = 3, .width = 0, .data = data, .size = 0 }, 100),
                     OPD_E_FORMAT);
    assert_int_equal(
        read_forged(&(forged_chunk){ .bytes = 100, .codec = 2, .width = 4, .data = data, .size = 15 }, 100),
        OPD_E_FORMAT);
    assert_int_equal(
        read_forged(&(forged_chunk){ .bytes = 100, .codec = 2, .width = 5, .data = data, .size = 100 }, 100),
        OPD_E_FORMAT);
}

static void content_with_another_digest_is_refused(void **state)
{
    uint8_t data[100] = { 0 };

    (void)state;
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 100, .data = data, .size = 100 }, 100), OPD_E_FORMAT);
    check_text("another digest");
    check_text("0102030000");
}

static void a_zstd_frame_that_declares_more_is_refused_before_it_is_inflated(void **state)
{
    static uint8_t zeros[64 << 20];
    uint8_t bomb[16384];
    size_t size = ZSTD_compress(bomb, sizeof(bomb), zeros, sizeof(zeros), 19);

    (void)state;
    assert_false(ZSTD_isError(size));
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 100, .codec = 1, .data = bomb, .size = size }, 100),
                     OPD_E_FORMAT);
    check_text("does not declare the 100 bytes");
    bomb[4] &= 0x1f; /* no content size declared */
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 100, .codec = 1, .data = bomb, .size = size }, 100),
                     OPD_E_FORMAT);
    assert_int_equal(read_forged(&(forged_chunk){ .bytes = 100, .codec = 1, .data = "", .size = 0 }, 100),
                     OPD_E_FORMAT);
}

static void planes_that_run_over_are_refused(void **state)
{
    uint8_t data[116] = { 0 };

    (void)state;
    data[3] = 0x80;
    data[0] = 25; /* plane 0: raw, 25 bytes; plane 1: zstd, 200 bytes that are not there */
    data[4] = 200;
    assert_int_equal(
        read_forged(&(forged_chunk){ .bytes = 100, .codec = 2, .width = 4, .data = data, .size = 116 }, 100),
        OPD_E_FORMAT);
    check_text("byte plane 1 is cut off");
    data[0] = 24;
    assert_int_equal(
        read_forged(&(forged_chunk){ .bytes = 100, .codec = 2, .width = 4, .data = data, .size = 116 }, 100),
        OPD_E_FORMAT);
    check_text("byte plane 0 has 24 bytes, not 25");
}

/* ------------------------------------------------------------------------------------------------------ index */

static void an_index_that_lies_is_not_believed(void **state)
{
    opd_bundle *bundle = NULL;
    forge file;
    forge rest;
    forge message;

    (void)state;
    forge_init(&file);
    forge_header(&file, 1);
    size_t index_at = file.size;
    for (int part = 0; part < 2; part++) {
        forge_init(&rest);
        forge_init(&message);
        if (part == 0) {
            forge_number(&message, 1, 0);
            forge_bytes(&message, 2, "\xff\xff\xff\xff\x0f", 5); /* 4 GiB long */
            forge_bytes(&message, 3, "\xdf\x0f", 2);
            forge_message(&rest, 2030, &message);
        } else {
            forge_fixed64(&message, 1, index_at);
            forge_fixed64(&message, 2, 1);
            uint32_t parts = 1;
            forge_varint(&message, 3 << 3 | 5);
            forge_raw(&message, &parts, 4);
            forge_message(&rest, 2031, &message);
        }
        forge_record(&file, &rest);
        forge_done(&message);
        forge_done(&rest);
    }
    open_file(&bundle, &file);
    assert_true(opd_bundle_state_of(bundle)->index_rebuilt);
    assert_int_equal(opd_bundle_state_of(bundle)->records, 1);
    opd_bundle_close(bundle);
    forge_done(&file);
}

/* Many index records that all name one place: each entry would cost a check of the same record. */
static void an_index_that_goes_back_is_not_believed(void **state)
{
    static const char *const sizes[] = { "\x1b", "\x02" }; /* the header's own size; less than any record */

    (void)state;
    for (size_t i = 0; i < OPD_COUNT(sizes); i++) {
        opd_bundle *bundle = NULL;
        forge file;
        forge rest;
        forge message;
        forge_init(&file);
        forge_header(&file, 1);
        size_t index_at = file.size;
        assert_int_equal(index_at, 0x1b);
        for (int part = 0; part < 3; part++) {
            forge_init(&rest);
            forge_init(&message);
            if (part < 2) {
                forge_number(&message, 1, 0);
                forge_bytes(&message, 2, sizes[i], 1);
                forge_bytes(&message, 3, "\xda\x0f", 2);
                forge_message(&rest, 2030, &message);
            } else {
                uint32_t parts = 2;
                forge_fixed64(&message, 1, index_at);
                forge_fixed64(&message, 2, 2);
                forge_varint(&message, 3 << 3 | 5);
                forge_raw(&message, &parts, 4);
                forge_message(&rest, 2031, &message);
            }
            forge_record(&file, &rest);
            forge_done(&message);
            forge_done(&rest);
        }
        open_file(&bundle, &file);
        assert_true(opd_bundle_state_of(bundle)->index_rebuilt);
        assert_int_equal(opd_bundle_state_of(bundle)->records, 1);
        opd_bundle_close(bundle);
        forge_done(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_bundle_is_refused),
        cmocka_unit_test(a_newer_version_is_refused),
        cmocka_unit_test(an_unknown_kind_is_skipped_and_counted),
        cmocka_unit_test(records_over_their_limit_are_damage),
        cmocka_unit_test(lengths_past_the_end_are_damage),
        cmocka_unit_test(unknown_fields_by_the_million_hit_the_cap),
        cmocka_unit_test(a_plain_forged_batch_is_read),
        cmocka_unit_test(columns_of_unequal_length_are_refused),
        cmocka_unit_test(indices_out_of_range_are_refused),
        cmocka_unit_test(counts_over_the_limits_are_refused),
        cmocka_unit_test(a_value_with_too_many_integers_is_refused),
        cmocka_unit_test(digests_of_the_wrong_length_are_refused),
        cmocka_unit_test(a_view_that_overflows_comes_back_as_none),
        cmocka_unit_test(chunk_sizes_that_disagree_are_refused),
        cmocka_unit_test(content_with_another_digest_is_refused),
        cmocka_unit_test(a_zstd_frame_that_declares_more_is_refused_before_it_is_inflated),
        cmocka_unit_test(planes_that_run_over_are_refused),
        cmocka_unit_test(an_index_that_lies_is_not_believed),
        cmocka_unit_test(an_index_that_goes_back_is_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
