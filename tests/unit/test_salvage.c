/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and folders: .partial and its renaming, the directory store, salvage, pack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include <opsdebug/bundle.h>

#include "bundle_make.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char paths[64][256];
    static int next;
    char *path = paths[next++ % 64];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/opd-salvage-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void a_growing_bundle_is_readable_and_renamed_when_complete(void **state)
{
    opd_header_info header = { .kind = "run" };
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    opd_call call = { .name = "op", .thread = 1 };
    const char *path = in_folder("grow.opsb");

    (void)state;
    assert_int_equal(opd_writer_open(&writer, path, &header), OPD_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    for (uint64_t i = 1; i <= 5; i++) {
        call.number = i;
        assert_int_equal(opd_writer_call(writer, &call), OPD_OK);
        assert_int_equal(opd_writer_flush(writer), OPD_OK);
        assert_int_equal(opd_bundle_open(&bundle, path), OPD_OK);
        assert_true(opd_bundle_state_of(bundle)->is_partial);
        assert_int_equal(opd_bundle_call_count(bundle), i);
        opd_bundle_close(bundle);
    }
    assert_int_equal(opd_writer_close(writer), OPD_OK);
    assert_int_not_equal(access(in_folder("grow.opsb.partial"), F_OK), 0);
    assert_int_equal(opd_bundle_open(&bundle, path), OPD_OK);
    assert_false(opd_bundle_state_of(bundle)->is_partial);
    assert_int_equal(opd_bundle_call_count(bundle), 5);
    opd_bundle_close(bundle);
}

static void an_abandoned_bundle_stays_or_goes(void **state)
{
    opd_header_info header = { .kind = "run" };
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    opd_call call = { .name = "op" };

    (void)state;
    assert_int_equal(opd_writer_open(&writer, in_folder("left.opsb"), &header), OPD_OK);
    assert_int_equal(opd_writer_call(writer, &call), OPD_OK);
    opd_writer_abandon(writer, true);
    assert_int_equal(opd_bundle_open(&bundle, in_folder("left.opsb")), OPD_OK);
    assert_int_equal(opd_bundle_call_count(bundle), 1);
    opd_bundle_close(bundle);
    assert_int_equal(opd_writer_open(&writer, in_folder("gone.opsb"), &header), OPD_OK);
    opd_writer_abandon(writer, false);
    assert_int_not_equal(access(in_folder("gone.opsb.partial"), F_OK), 0);
    assert_int_equal(opd_writer_open(&writer, "/nonexistent/x.opsb", &header), OPD_E_IO);
    assert_non_null(strstr(opd_error_text(), "/nonexistent/x.opsb"));
}

static void the_store_gives_back_what_was_put(void **state)
{
    float values[1000];
    float back[1000];
    opd_tensor view;
    char path[256];
    char text[OPD_DIGEST_TEXT];
    const char *store = in_folder("store");

    (void)state;
    for (int i = 0; i < 1000; i++) {
        values[i] = (float)i / 7;
    }
    assert_int_equal(opd_tensor_contiguous(&view, OPD_F32, 1, (int64_t[]){ 1000 }, values), OPD_OK);
    opd_digest digest = opd_tensor_digest(&view);
    opd_digest wrong = digest;
    wrong.bytes[3] ^= 1;
    assert_false(opd_store_has(store, &digest));
    assert_int_equal(opd_store_get(back, sizeof(back), store, &digest, &view), OPD_E_NOTFOUND);
    assert_int_equal(opd_store_put(store, &wrong, &view, values), OPD_E_INVALID);
    assert_int_equal(opd_store_put(store, &digest, &view, values), OPD_OK);
    assert_int_equal(opd_store_put(store, &digest, &view, values), OPD_OK);
    assert_true(opd_store_has(store, &digest));
    assert_int_equal(opd_store_get(back, sizeof(back), store, &digest, &view), OPD_OK);
    assert_memory_equal(back, values, sizeof(back));
    opd_digest_print(text, &digest);
    snprintf(path, sizeof(path), "%s/%.2s/%s", store, text, text + 2);
    assert_int_equal(access(path, F_OK), 0);
    /* Damage is found, and said to be in the store. */
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 200, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, 200, SEEK_SET), 0);
    fputc(byte ^ 0x40, file);
    fclose(file);
    assert_int_equal(opd_store_get(back, sizeof(back), store, &digest, &view), OPD_E_FORMAT);
}

/* A bundle with its data elsewhere: calls refer to digests that only a store has. */
static void pack_makes_a_thin_bundle_self_contained(void **state)
{
    double values[50];
    double back[50];
    opd_header_info header = { .kind = "run", .capture = "inputs" };
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    opd_call call = { .name = "op", .thread = 1, .number = 1, .operand_count = 1 };
    opd_operand *operand = &call.operands[0];
    const char *store = in_folder("pack-store");

    (void)state;
    for (int i = 0; i < 50; i++) {
        values[i] = 1.0 / (i + 1);
    }
    snprintf(operand->name, sizeof(operand->name), "x");
    operand->role = OPD_ROLE_IN;
    assert_int_equal(opd_tensor_contiguous(&operand->view, OPD_F64, 1, (int64_t[]){ 50 }, values), OPD_OK);
    operand->before = opd_tensor_digest(&operand->view);
    assert_int_equal(opd_writer_open(&writer, in_folder("thin.opsb"), &header), OPD_OK);
    assert_int_equal(opd_writer_call(writer, &call), OPD_OK);
    assert_int_equal(opd_writer_close(writer), OPD_OK);

    assert_int_equal(opd_pack(in_folder("thin.opsb"), in_folder("fat.opsb"), store, NULL, NULL), OPD_E_NOTFOUND);
    assert_non_null(strstr(opd_error_text(), "pack-store"));
    assert_int_not_equal(access(in_folder("fat.opsb"), F_OK), 0);
    assert_int_not_equal(access(in_folder("fat.opsb.salvage"), F_OK), 0);
    assert_int_equal(opd_store_put(store, &operand->before, &operand->view, values), OPD_OK);
    assert_int_equal(opd_pack(in_folder("thin.opsb"), in_folder("fat.opsb"), store, NULL, NULL), OPD_OK);
    assert_int_equal(opd_bundle_open(&bundle, in_folder("fat.opsb")), OPD_OK);
    assert_true(opd_bundle_has_tensor(bundle, &operand->before));
    assert_int_equal(opd_bundle_tensor(back, sizeof(back), bundle, &operand->before, &operand->view), OPD_OK);
    assert_memory_equal(back, values, sizeof(back));
    opd_bundle_close(bundle);
    /* Without packing, the store is looked at when it is named. */
    assert_int_equal(opd_bundle_open(&bundle, in_folder("thin.opsb")), OPD_OK);
    assert_int_equal(opd_bundle_tensor(back, sizeof(back), bundle, &operand->before, &operand->view), OPD_E_NOTFOUND);
    assert_int_equal(opd_bundle_set_store(bundle, store), OPD_OK);
    assert_int_equal(opd_bundle_tensor(back, sizeof(back), bundle, &operand->before, &operand->view), OPD_OK);
    opd_bundle_close(bundle);
}

static void a_torn_bundle_is_mended(void **state)
{
    opd_salvage_report report = { 0 };
    opd_bundle *bundle = NULL;
    memory_file file;

    (void)state;
    make_bundle(&file, 9, 4);
    write_file(in_folder("torn.opsb.partial"), file.bytes, file.size - file.size / 3);
    assert_int_equal(opd_salvage(&report, in_folder("torn.opsb"), in_folder("torn.opsb"), NULL, NULL), OPD_OK);
    assert_int_equal(access(in_folder("torn.opsb.partial"), F_OK), 0); /* the evidence stays */
    assert_int_equal(opd_bundle_open(&bundle, in_folder("torn.opsb")), OPD_OK);
    assert_false(opd_bundle_state_of(bundle)->is_partial);
    assert_int_equal(opd_bundle_call_count(bundle), report.calls);
    assert_int_equal(opd_bundle_state_of(bundle)->records, report.records_kept);
    assert_true(report.calls > 0 && report.calls < 4);
    assert_int_equal(report.records_lost, 1);
    assert_true(report.tensors_kept >= 2 * report.calls);
    opd_bundle_damage(bundle, NULL, NULL);
    assert_int_equal(opd_bundle_state_of(bundle)->damaged, 0);
    opd_bundle_close(bundle);
    opd_free(file.bytes);
}

static void a_tensor_that_lost_a_chunk_is_left_out(void **state)
{
    static uint8_t values[9 << 20];
    opd_salvage_report report = { 0 };
    opd_header_info header = { .kind = "run" };
    make_random random = { 3 };
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    memory_file file;
    opd_tensor view;
    opd_tensor small;

    (void)state;
    for (size_t i = 0; i < sizeof(values); i++) {
        values[i] = (uint8_t)make_u64(&random);
    }
    assert_int_equal(opd_tensor_contiguous(&view, OPD_U8, 1, (int64_t[]){ sizeof(values) }, values), OPD_OK);
    assert_int_equal(opd_tensor_contiguous(&small, OPD_U8, 1, (int64_t[]){ 100 }, values), OPD_OK);
    opd_digest digest = opd_tensor_digest(&view);
    opd_digest other = opd_tensor_digest(&small);
    assert_int_equal(opd_writer_open_sink(&writer, make_sink(&file), &header), OPD_OK);
    assert_int_equal(opd_writer_tensor(writer, &digest, &view, values), OPD_OK);
    assert_int_equal(opd_writer_tensor(writer, &other, &small, values), OPD_OK);
    assert_int_equal(opd_writer_close(writer), OPD_OK);
    file.bytes[(size_t)5 << 20] ^= 4; /* the second of three chunks */
    write_file(in_folder("hurt.opsb"), file.bytes, file.size);
    assert_int_equal(opd_salvage(&report, in_folder("hurt.opsb"), in_folder("mended.opsb"), NULL, NULL), OPD_OK);
    assert_int_equal(report.tensors_kept, 1);
    assert_int_equal(report.tensors_lost, 1);
    assert_int_equal(report.records_lost, 3);
    assert_int_equal(opd_bundle_open(&bundle, in_folder("mended.opsb")), OPD_OK);
    assert_false(opd_bundle_has_tensor(bundle, &digest));
    assert_int_equal(opd_bundle_tensor(values, 100, bundle, &other, &small), OPD_OK);
    opd_bundle_close(bundle);
    opd_free(file.bytes);
}

/* Of the record that starts at offset: its rest, behind the check; *end is where the next record starts. NULL behind the last. */
static uint8_t *rest_of(const memory_file *file, size_t offset, size_t *end)
{
    size_t length = 0;
    size_t at = offset + 1;

    if (offset >= file->size) {
        return NULL;
    }
    assert_int_equal(file->bytes[offset], 0x0a);
    for (int shift = 0;; shift += 7) {
        length |= (size_t)(file->bytes[at] & 0x7f) << shift;
        if (!(file->bytes[at++] & 0x80)) {
            break;
        }
    }
    *end = at + length;
    return file->bytes + at + 20;
}

/* Spoils the last bytes of a tensor record, which are its content, under a check made anew. bytes: where the tensor's digest is found. */
static void forge_content(memory_file *file, const opd_digest *digest)
{
    size_t end = 0;
    int spoiled = 0;

    for (size_t at = 0; at < file->size; at = end) {
        uint8_t *rest = rest_of(file, at, &end);
        size_t size = (size_t)(file->bytes + end - rest);
        bool is_tensor = rest[0] == 0xfa && rest[1] == 0x7d; /* field 2015, bytes */
        if (is_tensor && memmem(rest, size < 200 ? size : 200, digest->bytes, sizeof(digest->bytes)) != NULL) {
            uint64_t check;
            rest[size - 1] ^= 0x10;
            check = XXH3_64bits_withSeed(rest, size, at);
            memcpy(rest - sizeof(check), &check, sizeof(check));
            spoiled++;
        }
    }
    assert_int_equal(spoiled, 1);
}

/* One call "op" on x and y, of 100 and 3000 values; "inputs": both must be read. */
static void write_two_operands(memory_file *file, opd_call *call, double *values)
{
    opd_header_info header = { .kind = "run", .capture = "inputs" };
    opd_writer *writer = NULL;

    *call = (opd_call){ .name = "op", .thread = 5, .number = 7, .operand_count = 2 };
    for (int i = 0; i < 3000; i++) {
        values[i] = (double)i;
    }
    for (int i = 0; i < 2; i++) {
        opd_operand *operand = &call->operands[i];
        snprintf(operand->name, sizeof(operand->name), "%s", i == 0 ? "x" : "y");
        operand->role = OPD_ROLE_IN;
        assert_int_equal(opd_tensor_contiguous(&operand->view, OPD_F64, 1, (int64_t[]){ i == 0 ? 100 : 3000 }, values),
                         OPD_OK);
    }
    assert_int_equal(opd_writer_open_sink(&writer, make_sink(file), &header), OPD_OK);
    assert_int_equal(opd_writer_call_with_data(writer, call), OPD_OK);
    assert_int_equal(opd_writer_close(writer), OPD_OK);
}

static void keep_text(void *context, const char *text)
{
    char(*lines)[256] = context;

    snprintf(lines[lines[0][0] == '\0' ? 0 : 1], sizeof(lines[0]), "%s", text);
}

/* Stored raw (x: another value) and compressed (y: a frame that ends otherwise); either way the record itself is in order. */
static void a_tensor_that_cannot_be_read_is_left_out_and_named(void **state)
{
    static double values[3000];
    static double back[3000];

    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        char lines[2][256] = { "", "" };
        opd_salvage_report report = { 0 };
        opd_bundle *bundle = NULL;
        opd_call call;
        memory_file file;
        const char *store = in_folder(bad == 0 ? "store-x" : "store-y");
        write_two_operands(&file, &call, values);
        const opd_operand *lost = &call.operands[bad];
        const opd_operand *kept = &call.operands[1 - bad];
        forge_content(&file, &lost->before);
        write_file(in_folder("forged.opsb"), file.bytes, file.size);
        assert_int_equal(opd_bundle_open(&bundle, in_folder("forged.opsb")), OPD_OK);
        opd_bundle_damage(bundle, NULL, NULL);
        assert_int_equal(opd_bundle_state_of(bundle)->damaged, 0);
        opd_bundle_close(bundle);

        assert_int_equal(opd_salvage(&report, in_folder("forged.opsb"), in_folder("true.opsb"), keep_text, lines),
                         OPD_OK);
        assert_int_equal(report.tensors_lost, 1);
        assert_int_equal(report.tensors_kept, 1);
        assert_int_equal(report.calls, 1);
        assert_non_null(strstr(lines[0], bad == 0 ? "op, thread 5 call 7, operand x before: "
                                                  : "op, thread 5 call 7, operand y before: "));
        assert_string_equal(lines[1], "");
        assert_int_equal(opd_bundle_open(&bundle, in_folder("true.opsb")), OPD_OK);
        assert_int_equal(opd_bundle_call_count(bundle), 1);
        assert_false(opd_bundle_has_tensor(bundle, &lost->before));
        assert_int_equal(
            opd_bundle_tensor(back, (size_t)opd_tensor_packed_bytes(&kept->view), bundle, &kept->before, &kept->view),
            OPD_OK);
        opd_bundle_close(bundle);

        /* Packed, it must hold what the call reads: not made, unless a store has it. */
        assert_int_equal(opd_pack(in_folder("forged.opsb"), in_folder("pack.opsb"), NULL, keep_text, lines),
                         OPD_E_FORMAT);
        assert_non_null(strstr(opd_error_text(), bad == 0 ? "op: operand x: tensor " : "op: operand y: tensor "));
        assert_int_not_equal(access(in_folder("pack.opsb"), F_OK), 0);
        assert_int_equal(opd_store_put(store, &lost->before, &lost->view, values), OPD_OK);
        assert_int_equal(opd_pack(in_folder("forged.opsb"), in_folder("pack.opsb"), store, keep_text, lines), OPD_OK);
        assert_string_equal(lines[1], "");
        assert_int_equal(opd_bundle_open(&bundle, in_folder("pack.opsb")), OPD_OK);
        assert_int_equal(
            opd_bundle_tensor(back, (size_t)opd_tensor_packed_bytes(&lost->view), bundle, &lost->before, &lost->view),
            OPD_OK);
        opd_bundle_close(bundle);
        assert_int_equal(unlink(in_folder("pack.opsb")), 0);
        opd_free(file.bytes);
    }
}

static void salvage_refuses_to_write_over_its_source(void **state)
{
    opd_salvage_report report;
    memory_file file;
    struct stat before;
    struct stat after;

    (void)state;
    make_bundle(&file, 2, 1);
    write_file(in_folder("same.opsb"), file.bytes, file.size);
    assert_int_equal(stat(in_folder("same.opsb"), &before), 0);
    assert_int_equal(opd_salvage(&report, in_folder("same.opsb"), in_folder("same.opsb"), NULL, NULL), OPD_E_INVALID);
    assert_int_equal(stat(in_folder("same.opsb"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_size, after.st_size);
    opd_free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_growing_bundle_is_readable_and_renamed_when_complete),
        cmocka_unit_test(an_abandoned_bundle_stays_or_goes),
        cmocka_unit_test(the_store_gives_back_what_was_put),
        cmocka_unit_test(pack_makes_a_thin_bundle_self_contained),
        cmocka_unit_test(a_torn_bundle_is_mended),
        cmocka_unit_test(a_tensor_that_lost_a_chunk_is_left_out),
        cmocka_unit_test(a_tensor_that_cannot_be_read_is_left_out_and_named),
        cmocka_unit_test(salvage_refuses_to_write_over_its_source),
    };

    unsetenv("OPSDEBUG_STORE");
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
