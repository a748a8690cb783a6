/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is written is read back, for random content of every struct. The seed is printed by the failing test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/bundle.h>

#include "bundle_make.h"

#define CALLS_MAX 1200

static void calls_come_back_as_written(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        make_random random = { seed };
        make_random again = { seed };
        memory_file file;
        opd_header_info header = { .kind = "run", .pid = 1000 };
        opd_writer *writer = NULL;
        opd_bundle *bundle = NULL;
        uint64_t count = seed == 25 ? CALLS_MAX : make_below(&random, 60);
        opd_call call;
        opd_call want;

        (void)make_below(&again, 60);
        again.state = random.state;
        assert_int_equal(opd_writer_open_sink(&writer, make_sink(&file), &header), OPD_OK);
        for (uint64_t i = 0; i < count; i++) {
            make_call(&random, &call);
            assert_int_equal(opd_writer_call(writer, &call), OPD_OK);
            if (make_below(&random, 50) == 0) {
                assert_int_equal(opd_writer_flush(writer), OPD_OK);
            }
        }
        assert_int_equal(opd_writer_close(writer), OPD_OK);
        assert_int_equal(opd_bundle_open_memory(&bundle, file.bytes, file.size), OPD_OK);
        assert_int_equal(opd_bundle_call_count(bundle), count);
        for (uint64_t i = 0; i < count; i++) {
            make_call(&again, &want);
            (void)make_below(&again, 50);
            assert_int_equal(opd_bundle_call(&call, bundle, i), OPD_OK);
            check_same_call(&call, &want);
            if (strcmp(want.name, "dgemm") == 0) {
                assert_ptr_equal(call.op, opd_routine_find("dgemm")->op);
            } else {
                assert_null(call.op);
            }
        }
        assert_int_equal(opd_bundle_state_of(bundle)->damaged, 0);
        assert_false(opd_bundle_state_of(bundle)->is_partial);
        opd_bundle_close(bundle);
        opd_free(file.bytes);
    }
}

/* Small calls fill batches by their number, not their size. */
static void full_batches_come_back_as_written(void **state)
{
    opd_header_info header = { .kind = "run" };
    opd_call call = { .name = "op", .pid = 1 };
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    uint64_t position = 0;
    memory_file file;

    (void)state;
    assert_int_equal(opd_writer_open_sink(&writer, make_sink(&file), &header), OPD_OK);
    for (uint64_t i = 0; i < 3 * 4096 + 5; i++) {
        call.thread = (uint32_t)(i % 3);
        call.number = i / 3 + 1;
        call.begin_ns = 1000 * i;
        call.end_ns = 1000 * i + 900;
        assert_int_equal(opd_writer_call(writer, &call), OPD_OK);
    }
    assert_int_equal(opd_writer_close(writer), OPD_OK);
    assert_true(file.size < (3 * 4096 + 5) * 40); /* a call with its slice: 5 bytes of columns, the rest is timeline */
    assert_int_equal(opd_bundle_open_memory(&bundle, file.bytes, file.size), OPD_OK);
    assert_int_equal(opd_bundle_call_count(bundle), 3 * 4096 + 5);
    assert_int_equal(opd_bundle_state_of(bundle)->records, 1 + 2 * 4);
    for (uint64_t i = 0; i < 3 * 4096 + 5; i += 101) {
        assert_int_equal(opd_bundle_call(&call, bundle, i), OPD_OK);
        assert_int_equal(call.thread, i % 3);
        assert_int_equal(call.number, i / 3 + 1);
        assert_int_equal(call.begin_ns, 1000 * i);
    }
    assert_int_equal(opd_bundle_find_call(&position, bundle, 2, 7), OPD_OK);
    assert_int_equal(position, 20);
    assert_int_equal(opd_bundle_find_call(&position, bundle, 3, 7), OPD_E_NOTFOUND);
    opd_bundle_close(bundle);
    opd_free(file.bytes);
}

static void small_records_come_back_as_written(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        make_random random = { seed };
        memory_file file;
        opd_header_info header;
        opd_environment_info environment;
        opd_module module;
        opd_event event;
        opd_failure failure;
        opd_frame frame;
        opd_lineage lineage;
        opd_count count;
        opd_writer *writer = NULL;
        opd_bundle *bundle = NULL;
        uint32_t number = 0;
        uint32_t pid = 0;
        uint32_t tid = 0;

        make_header(&random, &header);
        make_environment(&random, &environment);
        make_module(&random, &module);
        make_event(&random, &event);
        make_failure(&random, &failure);
        make_frame(&random, &frame);
        make_lineage(&random, &lineage);
        memset(&count, 0, sizeof(count));
        count.thread = (uint32_t)make_below(&random, UINT32_MAX);
        count.number = make_below(&random, UINT64_MAX);
        count.calls = make_below(&random, UINT64_MAX);
        count.ns = make_below(&random, UINT64_MAX);
        count.is_rest = make_below(&random, 2) == 1;
        assert_int_equal(opd_writer_open_sink(&writer, make_sink(&file), &header), OPD_OK);
        assert_int_equal(opd_writer_environment(writer, &environment), OPD_OK);
        assert_int_equal(opd_writer_module(writer, &number, &module), OPD_OK);
        assert_int_equal(number, 1);
        assert_int_equal(opd_writer_module(writer, &number, &module), OPD_OK);
        assert_int_equal(number, 1);
        assert_int_equal(opd_writer_event(writer, &event), OPD_OK);
        assert_int_equal(opd_writer_failure(writer, &failure), OPD_OK);
        assert_int_equal(opd_writer_backtrace(writer, 7, &frame, 1), OPD_OK);
        assert_int_equal(opd_writer_lineage(writer, &lineage), OPD_OK);
        assert_int_equal(opd_writer_count(writer, &count), OPD_OK);
        assert_int_equal(opd_writer_thread(writer, 8, 9, "worker"), OPD_OK);
        assert_int_equal(opd_writer_close(writer), OPD_OK);

        assert_int_equal(opd_bundle_open_memory(&bundle, file.bytes, file.size), OPD_OK);
        assert_memory_equal(opd_bundle_header(bundle), &header, sizeof(header));
        assert_memory_equal(opd_bundle_environment(bundle), &environment, sizeof(environment));
        assert_int_equal(opd_bundle_module_count(bundle), 1);
        assert_memory_equal(opd_bundle_module(bundle, 1), &module, sizeof(module));
        assert_null(opd_bundle_module(bundle, 0));
        assert_null(opd_bundle_module(bundle, 2));
        assert_memory_equal(opd_bundle_event(bundle, 0), &event, sizeof(event));
        assert_memory_equal(opd_bundle_failure(bundle, 0), &failure, sizeof(failure));
        assert_int_equal(opd_bundle_frame_count(bundle, 7), 1);
        assert_memory_equal(opd_bundle_frame(bundle, 7, 0), &frame, sizeof(frame));
        assert_memory_equal(opd_bundle_lineage(bundle, 0), &lineage, sizeof(lineage));
        assert_int_equal(opd_bundle_count_count(bundle), 1);
        const opd_count *counted = opd_bundle_count(bundle, 0);
        assert_true(counted->thread == count.thread && counted->number == count.number &&
                    counted->calls == count.calls && counted->ns == count.ns && counted->is_rest == count.is_rest);
        assert_int_equal(opd_bundle_thread_count(bundle), 1);
        assert_string_equal(opd_bundle_thread(bundle, 0, &pid, &tid), "worker");
        assert_int_equal(pid, 8);
        assert_int_equal(tid, 9);
        assert_int_equal(opd_bundle_state_of(bundle)->damaged, 0);
        opd_bundle_close(bundle);
        opd_free(file.bytes);
    }
}

/* Packed bytes for a view, of a kind that leads to each codec. */
static void fill_packed(make_random *random, uint8_t *bytes, size_t size, int kind)
{
    for (size_t i = 0; i < size; i++) {
        switch (kind) {
        case 0:
            bytes[i] = 0; /* constant */
            break;
        case 1:
            bytes[i] = (uint8_t)make_u64(random); /* raw */
            break;
        case 2:
            bytes[i] = (uint8_t)(i % 100); /* zstd */
            break;
        default:
            bytes[i] = i % 4 == 3 ? 0x3f : (uint8_t)make_u64(random); /* planes */
            break;
        }
    }
}

static void tensors_come_back_as_written(void **state)
{
    static const int64_t counts[] = { 0, 1, 2, 15, 16, 17, 63, 1000, 4096, 1048577, 2100000 };

    (void)state;
    for (size_t c = 0; c < OPD_COUNT(counts); c++) {
        for (int kind = 0; kind < 4; kind++) {
            for (int t = 0; t < (counts[c] > 5000 ? 1 : 3); t++) {
                opd_dtype dtype = ((opd_dtype[]){ OPD_F32, OPD_F64, OPD_I8 })[t];
                make_random random = { (uint64_t)kind + 1 };
                opd_header_info header = { .kind = "run" };
                memory_file file;
                opd_tensor view;
                opd_writer *writer = NULL;
                opd_bundle *bundle = NULL;
                uint8_t *packed = NULL;
                uint8_t *back = NULL;

                assert_int_equal(opd_tensor_contiguous(&view, dtype, 1, &counts[c], NULL), OPD_OK);
                size_t size = (size_t)opd_tensor_packed_bytes(&view);
                assert_int_equal(opd_alloc((void **)&packed, size), OPD_OK);
                assert_int_equal(opd_alloc((void **)&back, size), OPD_OK);
                fill_packed(&random, packed, size, kind);
                opd_digest digest = opd_packed_digest(&view, packed);
                assert_int_equal(opd_writer_open_sink(&writer, make_sink(&file), &header), OPD_OK);
                assert_int_equal(opd_writer_tensor(writer, &digest, &view, packed), OPD_OK);
                uint64_t once = opd_writer_size(writer);
                assert_int_equal(opd_writer_tensor(writer, &digest, &view, packed), OPD_OK);
                assert_int_equal(opd_writer_size(writer), once);
                assert_int_equal(opd_writer_close(writer), OPD_OK);
                assert_int_equal(opd_bundle_open_memory(&bundle, file.bytes, file.size), OPD_OK);
                assert_true(opd_bundle_has_tensor(bundle, &digest));
                assert_int_equal(opd_bundle_tensor(back, size, bundle, &digest, &view), OPD_OK);
                assert_memory_equal(back, packed, size);
                assert_true(once < size + size / 1000 + 1000);
                assert_true(kind != 0 || size < 100000 || once < size / 1000);
                opd_bundle_close(bundle);
                opd_free(file.bytes);
                opd_free(packed);
                opd_free(back);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_come_back_as_written),
        cmocka_unit_test(full_batches_come_back_as_written),
        cmocka_unit_test(small_records_come_back_as_written),
        cmocka_unit_test(tensors_come_back_as_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
