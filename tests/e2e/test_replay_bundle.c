/* SPDX-License-Identifier: Apache-2.0 */
/* Replay of a call read back from a bundle: its environment, its provider, its outputs, and paths that must not be followed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "handmade.h"

typedef struct scene {
    char directory[64];
    char path[128];
    opd_module provider;
    opd_environment_info environment;
    bool keep_outputs;   /* content of the outputs, not only their digest */
    double output_shift; /* added to the recorded C[0] */
} scene;

static scene new_scene(void)
{
    scene made = { .directory = "/tmp/opd-replay-XXXXXX" };
    assert_non_null(mkdtemp(made.directory));
    snprintf(made.path, sizeof made.path, "%s/case.opsb", made.directory);
    assert_int_equal(opd_environment_read(&made.environment), OPD_OK);
    return made;
}

static void end_scene(scene *made)
{
    unlink(made->path);
    rmdir(made->directory);
}

static void store_outputs(opd_writer *writer, opd_case *item, const opd_replay_result *result, const scene *made)
{
    for (int i = 0; i < result->output_count; i++) {
        opd_operand *operand = opd_call_operand(&item->call, result->outputs[i].name);
        opd_tensor view = result->outputs[i].view;
        *(double *)view.data += made->output_shift;
        operand->after = opd_tensor_digest(&view);
        opd_tensor_health(&operand->health_after, &view);
        operand->flags |= OPD_OPERAND_HAS_HEALTH;
        if (made->keep_outputs) {
            uint64_t size = opd_tensor_packed_bytes(&view);
            void *packed = NULL;
            assert_int_equal(opd_alloc(&packed, size), OPD_OK);
            opd_tensor_pack(packed, &view);
            assert_int_equal(opd_writer_tensor(writer, &operand->after, &view, packed), OPD_OK);
            opd_free(packed);
        }
    }
}

/* A bundle with one dgemm, as run by netlib (or what the scene's provider says); then opened. */
static opd_bundle *write_scene(scene *made)
{
    opd_header_info header = { .version = OPD_FORMAT_VERSION, .kind = "failure", .capture = "inputs" };
    opd_call call = handmade_call("dgemm", "m=6 n=5 k=40 lda=8 beta=0.5");
    opd_case item = handmade_case(&call, 11);
    opd_replay_options options = handmade_options("netlib", NULL, OPD_GUARD_NONE);
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    options.keep_outputs = true;
    opd_replay_result result = handmade_replay(&item, NULL, &options);
    if (made->provider.path[0] == '\0') {
        memcpy(made->provider.path, result.library, sizeof made->provider.path);
        memcpy(made->provider.build_id, result.build_id, sizeof made->provider.build_id);
    }
    assert_int_equal(opd_writer_open(&writer, made->path, &header), OPD_OK);
    assert_int_equal(opd_writer_environment(writer, &made->environment), OPD_OK);
    assert_int_equal(opd_writer_module(writer, &item.call.provider, &made->provider), OPD_OK);
    store_outputs(writer, &item, &result, made);
    item.call.thread = 7;
    item.call.number = 1;
    assert_int_equal(opd_writer_call_with_data(writer, &item.call), OPD_OK);
    assert_int_equal(opd_writer_close(writer), OPD_OK);
    opd_replay_result_done(&result);
    opd_case_done(&item);
    if (opd_bundle_open(&bundle, made->path) != OPD_OK) {
        fail_msg("%s", opd_error_text());
    }
    return bundle;
}

static opd_status replay_scene(opd_replay_result *result, const opd_bundle *bundle, const char *library)
{
    opd_call call;
    opd_case item;
    opd_replay_options options = handmade_options(library, NULL, OPD_GUARD_NONE);
    assert_int_equal(opd_bundle_call(&call, bundle, 0), OPD_OK);
    if (opd_case_load(&item, bundle, &call, (uint64_t)1 << 30) != OPD_OK) {
        fail_msg("%s", opd_error_text());
    }
    opd_status status = opd_replay(result, bundle, &item, NULL, &options);
    opd_case_done(&item);
    return status;
}

static void same_library_gives_the_same_bits_and_no_difference(void **state)
{
    scene made = new_scene();
    opd_replay_result result;
    opd_bundle *bundle = write_scene(&made);
    (void)state;
    assert_int_equal(replay_scene(&result, bundle, NULL), OPD_OK);
    assert_int_equal(result.same, OPD_SAME_BITWISE);
    assert_string_equal(result.environment, "");
    assert_string_equal(result.library, made.provider.path);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    opd_bundle_close(bundle);
    end_scene(&made);
}

static void other_machine_and_library_are_named_before_the_verdict(void **state)
{
    scene made = new_scene();
    opd_replay_result result;
    snprintf(made.environment.cpu_model, sizeof made.environment.cpu_model, "Imagined CPU");
    size_t used = strlen(made.environment.isa);
    snprintf(made.environment.isa + used, sizeof made.environment.isa - used, " avx512_imagined");
    opd_bundle *bundle = write_scene(&made);
    (void)state;
    assert_int_equal(replay_scene(&result, bundle, "openblas"), OPD_OK);
    assert_true(result.same == OPD_SAME_BITWISE || result.same == OPD_SAME_BOUND);
    assert_non_null(strstr(result.environment, "cpu: recorded Imagined CPU, here"));
    assert_non_null(strstr(result.environment, "isa: recorded avx512_imagined, here absent"));
    assert_non_null(strstr(result.environment, "library: recorded"));
    assert_non_null(strstr(result.environment, "build-id: recorded"));
    opd_bundle_close(bundle);
    end_scene(&made);
}

static void kept_outputs_are_compared_by_content(void **state)
{
    opd_replay_result result;
    (void)state;
    for (int k = 0; k < 2; k++) {
        scene made = new_scene();
        made.keep_outputs = true;
        made.output_shift = k == 0 ? 1e-15 : 1e-9; /* rounding, and not */
        opd_bundle *bundle = write_scene(&made);
        assert_int_equal(replay_scene(&result, bundle, NULL), OPD_OK);
        assert_int_equal(result.same, k == 0 ? OPD_SAME_BOUND : OPD_SAME_DIFFERENT);
        assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK); /* what runs here is right */
        opd_bundle_close(bundle);
        end_scene(&made);
    }
}

static void core_this_cpu_lacks_is_not_forced(void **state)
{
    scene made = new_scene();
    opd_replay_result result;
    (void)state;
    if (opd_core_missing("Bulldozer") == NULL) {
        skip();
    }
    snprintf(made.provider.core, sizeof made.provider.core, "Bulldozer");
    snprintf(made.provider.path, sizeof made.provider.path,
             "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0");
    made.provider.threads = 1;
    opd_bundle *bundle = write_scene(&made);
    opd_status status = replay_scene(&result, bundle, NULL);
    if (status == OPD_E_NOTFOUND) {
        skip(); /* no OpenBLAS there */
    }
    assert_int_equal(status, OPD_OK);
    assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
    assert_non_null(strstr(result.environment, "core: recorded Bulldozer, here not used"));
    assert_int_equal(result.threads, 1); /* as recorded */
    opd_bundle_close(bundle);
    end_scene(&made);
}

/* A bundle may name any path; only what the administrator installed is loaded on its word. */
static void path_from_a_bundle_outside_the_system_is_not_loaded(void **state)
{
    scene made = new_scene();
    opd_replay_result result;
    const char *bad = getenv("OPD_BAD_BLAS");
    char command[1024];
    (void)state;
    assert_non_null(bad);
    snprintf(made.provider.path, sizeof made.provider.path, "%s/libevil.so", made.directory);
    snprintf(command, sizeof command, "cp '%s' '%s'", bad, made.provider.path);
    assert_int_equal(system(command), 0);
    chmod(made.directory, 0777);
    opd_bundle *bundle = write_scene(&made);
    opd_status status = replay_scene(&result, bundle, NULL);
    const char *text = opd_error_text();
    unlink(made.provider.path);
    assert_int_equal(status, OPD_E_NOTFOUND);
    assert_non_null(strstr(text, "--library"));
    opd_bundle_close(bundle);
    end_scene(&made);
}

static void flush_to_zero_of_the_record_is_restored(void **state)
{
    scene made = new_scene();
    opd_replay_result result;
    opd_header_info header = { .version = OPD_FORMAT_VERSION, .kind = "failure", .capture = "inputs" };
    opd_call call = handmade_call("dscal", "n=4 alpha=0.5");
    opd_case item = handmade_case(&call, 11);
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    (void)state;
    for (int i = 0; i < 4; i++) {
        handmade_set(&item, "x", i, 3e-308, 0); /* its half is subnormal */
    }
    for (int flush = 0; flush < 2; flush++) {
        made.environment.mxcsr = flush ? 0x9fc0 : 0x1f80;
        assert_int_equal(opd_writer_open(&writer, made.path, &header), OPD_OK);
        assert_int_equal(opd_writer_environment(writer, &made.environment), OPD_OK);
        assert_int_equal(opd_writer_call_with_data(writer, &item.call), OPD_OK);
        assert_int_equal(opd_writer_close(writer), OPD_OK);
        assert_int_equal(opd_bundle_open(&bundle, made.path), OPD_OK);
        assert_int_equal(replay_scene(&result, bundle, "netlib"), OPD_OK);
        assert_int_equal(result.outputs[0].health_after.subnormal, flush ? 0 : 4);
        assert_int_equal(result.outputs[0].health_after.zero, flush ? 4 : 0);
        assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK); /* flushing is what was asked for, no fault */
        opd_bundle_close(bundle);
        unlink(made.path);
    }
    opd_case_done(&item);
    end_scene(&made);
}

/* Modes are of threads: the call's own counts, the environment's only for a call that does not say. */
static void mode_of_the_call_comes_before_that_of_the_process(void **state)
{
    static const struct {
        uint32_t process, call;
        bool is_flushed;
        const char *said;
    } modes[] = {
        { 0x1f80, 0x9fc0, true, NULL },
        { 0x9fc0, 0x1f80, false, NULL },
        { 0x9fc0, 0, true, NULL },
        { 0x1f80, 0x9ffd, true, "floating-point mode: recorded 0x9ffd, here 0x9fc0" },
        { 0x9fc0, 0x10000, false, "floating-point mode: recorded 0x10000, here 0x1f80" },
    };
    scene made = new_scene();
    opd_replay_result result;
    opd_header_info header = { .version = OPD_FORMAT_VERSION, .kind = "failure", .capture = "inputs" };
    opd_call call = handmade_call("dscal", "n=1 alpha=0.5");
    opd_case item = handmade_case(&call, 11);
    opd_writer *writer = NULL;
    opd_bundle *bundle = NULL;
    (void)state;
    handmade_set(&item, "x", 0, 3e-308, 0);
    for (size_t i = 0; i < OPD_COUNT(modes); i++) {
        made.environment.mxcsr = modes[i].process;
        item.call.mxcsr = modes[i].call;
        assert_int_equal(opd_writer_open(&writer, made.path, &header), OPD_OK);
        assert_int_equal(opd_writer_environment(writer, &made.environment), OPD_OK);
        assert_int_equal(opd_writer_call_with_data(writer, &item.call), OPD_OK);
        assert_int_equal(opd_writer_close(writer), OPD_OK);
        assert_int_equal(opd_bundle_open(&bundle, made.path), OPD_OK);
        assert_int_equal(replay_scene(&result, bundle, "netlib"), OPD_OK);
        assert_int_equal(result.outputs[0].health_after.zero, modes[i].is_flushed ? 1 : 0);
        assert_int_equal(result.observed.outcome, OPD_OUTCOME_OK);
        const char *said = strstr(result.environment, "floating-point mode");
        assert_true((said != NULL) == (modes[i].said != NULL));
        assert_true(said == NULL || strncmp(said, modes[i].said, strlen(modes[i].said)) == 0);
        opd_bundle_close(bundle);
        unlink(made.path);
    }
    opd_case_done(&item);
    end_scene(&made);
}

/* What DAZ makes of subnormal inputs is no fault, however large they are multiplied. */
static void subnormal_inputs_are_zeros_under_daz(void **state)
{
    opd_replay_options options = handmade_options("netlib", NULL, OPD_GUARD_NONE);
    opd_call call = handmade_call("ddot", "n=3");
    opd_case item = handmade_case(&call, 11);
    double results[2];
    (void)state;
    options.keep_outputs = true;
    for (int i = 0; i < 3; i++) {
        handmade_set(&item, "x", i, i == 0 ? 0.5 : 1e-310, 0);
        handmade_set(&item, "y", i, i == 0 ? 1 : 1e308, 0);
    }
    for (int is_flushing = 0; is_flushing < 2; is_flushing++) {
        item.call.mxcsr = is_flushing != 0 ? OPD_MXCSR_DEFAULT | OPD_MXCSR_DAZ : OPD_MXCSR_DEFAULT;
        opd_replay_result result = handmade_replay(&item, NULL, &options);
        results[is_flushing] = *(const double *)result.outputs[0].view.data;
        assert_true(result.numbers.is_valid);
        if (result.observed.outcome != OPD_OUTCOME_OK) {
            fail_msg("%s", result.observed.reason);
        }
        opd_replay_result_done(&result);
    }
    assert_true(results[0] > 0.5 && results[1] == 0.5);
    assert_true(*(const double *)opd_call_operand(&item.call, "x")->view.data == 0.5);
    opd_case_done(&item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_library_gives_the_same_bits_and_no_difference),
        cmocka_unit_test(other_machine_and_library_are_named_before_the_verdict),
        cmocka_unit_test(kept_outputs_are_compared_by_content),
        cmocka_unit_test(core_this_cpu_lacks_is_not_forced),
        cmocka_unit_test(path_from_a_bundle_outside_the_system_is_not_loaded),
        cmocka_unit_test(flush_to_zero_of_the_record_is_restored),
        cmocka_unit_test(mode_of_the_call_comes_before_that_of_the_process),
        cmocka_unit_test(subnormal_inputs_are_zeros_under_daz),
    };
    opd_call call = handmade_call("dscal", "n=1");
    opd_case item = handmade_case(&call, 1);
    opd_replay_options options = handmade_options("netlib", NULL, OPD_GUARD_NONE);
    opd_replay_result result;
    opd_status status = opd_replay(&result, NULL, &item, NULL, &options);
    opd_case_done(&item);
    if (status == OPD_E_NOTFOUND) {
        puts("skipped: the reference BLAS (libblas3) is not installed");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
