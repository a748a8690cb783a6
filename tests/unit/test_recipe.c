/* SPDX-License-Identifier: Apache-2.0 */
/* A recipe in place of a content: what it makes has the bits, and a wrong one is found out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/bundle.h>

enum { ROWS = 5, COLS = 7 };

/* A transposed view: the order in memory is not that of the positions. */
static opd_tensor view_over(float *data)
{
    return (opd_tensor){ .data = data, .dtype = OPD_F32, .rank = 2, .shape = { ROWS, COLS }, .stride = { 1, ROWS } };
}

static void write_one(const char *path, const opd_digest *digest, const opd_tensor *view, const opd_fill *fill)
{
    opd_writer *writer = NULL;
    opd_header_info header = { .version = OPD_FORMAT_VERSION, .kind = "failure" };
    assert_int_equal(opd_writer_open(&writer, path, &header), OPD_OK);
    assert_int_equal(opd_writer_recipe(writer, digest, view, fill), OPD_OK);
    assert_int_equal(opd_writer_close(writer), OPD_OK);
}

static void read_one(opd_status wanted, float *out, const char *path, const opd_digest *digest, const opd_tensor *view)
{
    opd_bundle *bundle = NULL;
    assert_int_equal(opd_bundle_open(&bundle, path), OPD_OK);
    assert_true(opd_bundle_has_tensor(bundle, digest));
    assert_int_equal(opd_bundle_tensor(out, sizeof(float) * ROWS * COLS, bundle, digest, view), wanted);
    assert_int_equal(opd_bundle_state_of(bundle)->damaged, 0);
    opd_bundle_close(bundle);
}

static void recipe_is_followed_and_held_against_the_digest(void **state)
{
    (void)state;
    char path[] = "/tmp/recipe-XXXXXX";
    char mended[64];
    float data[ROWS * COLS];
    float made[ROWS * COLS];
    opd_tensor view = view_over(data);
    opd_fill fill = { .kind = OPD_FILL_NORMAL, .a = 0.1, .b = 3, .seed = UINT64_MAX - 5, .stream = 2 };
    assert_int_not_equal(close(mkstemp(path)), -1);
    snprintf(mended, sizeof(mended), "%s.mended", path);
    opd_tensor_fill(&view, &fill);
    opd_digest digest = opd_tensor_digest(&view);
    write_one(path, &digest, &view, &fill);
    read_one(OPD_OK, made, path, &digest, &view);
    assert_memory_equal(made, data, sizeof(data)); /* column by column: as it lies in memory */
    opd_salvage_report report;
    assert_int_equal(opd_salvage(&report, path, mended, NULL, NULL), OPD_OK);
    assert_int_equal(report.tensors_kept, 1);
    read_one(OPD_OK, made, mended, &digest, &view);
    unlink(mended);
    fill.seed++;
    write_one(path, &digest, &view, &fill);
    opd_error_clear();
    read_one(OPD_E_FORMAT, made, path, &digest, &view);
    assert_non_null(strstr(opd_error_text(), "recipe"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(recipe_is_followed_and_held_against_the_digest) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
