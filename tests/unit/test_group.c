// SPDX-License-Identifier: Apache-2.0
// Grouping of bundles written here: one bug with three shapes is one group, two bugs of one operator are two, in any order.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <opsdebug/reduce.h>

typedef struct sample {
    const char *routine;
    int64_t size;
    opd_outcome outcome;
    const char *operand; /* where it shows */
    const char *poison;  /* operand with a NaN that must not be read; NULL = none */
    double largest;
    const char *label; /* in the bundle; "" = none yet */
} sample;

/* Two bugs of gemm (alpha = 0 reads A, met in three precisions and kinds; NaN from overflow), one bug of zgemv under three shapes, one crash. */
static const sample samples[] = {
    { "zgemv", 6, OPD_OUTCOME_OOB_READ, "x", NULL, 1, "oob-read" },
    { "dgemm", 2, OPD_OUTCOME_NAN_BORN, "C", "A", 1, "" },
    { "zgemv", 1022, OPD_OUTCOME_OOB_READ, "x", NULL, 1, "oob-read" },
    { "dgemm", 50, OPD_OUTCOME_NAN_BORN, "C", "A", 1, "" },
    { "zgemv", 14, OPD_OUTCOME_OOB_READ, "x", NULL, 1, "oob-read" },
    { "dgemm", 3, OPD_OUTCOME_NAN_BORN, "C", NULL, 1e250, "" },
    { "dgemm", 7, OPD_OUTCOME_CRASH, "", NULL, 1, "" },
    { "sgemm", 4, OPD_OUTCOME_NAN_BORN, "C", "A", 1, "" }, /* as dgemm's: one source, one cause */
    { "cgemm", 4, OPD_OUTCOME_NAN_BORN, "C", "A", 1, "" }, /* complex kernels are other code */
};

static char folder[] = "/tmp/opd-group-XXXXXX";

static void path_of(char *text, size_t size, size_t which)
{
    snprintf(text, size, "%s/%zu%s", folder, which, OPD_SUFFIX);
}

static void write_sample(size_t which)
{
    const sample *s = &samples[which];
    const opd_routine *routine = opd_routine_find(s->routine);
    const opd_header_info header = { .version = OPD_FORMAT_VERSION, .kind = "failure" };
    opd_call call;
    opd_writer *writer = NULL;
    char path[128];
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    for (int i = 0; i < call.symbol_count; i++) {
        assert_int_equal(opd_call_set(&call, call.symbols[i].name, s->size), OPD_OK);
    }
    if (s->poison != NULL) {
        assert_int_equal(opd_call_set(&call, "alpha", 0), OPD_OK);
    }
    for (int i = 0; i < call.operand_count; i++) {
        opd_operand *operand = &call.operands[i];
        bool is_poisoned = s->poison != NULL && strcmp(operand->name, s->poison) == 0;
        operand->flags |= OPD_OPERAND_HAS_HEALTH;
        operand->health_before = (opd_health){ .count = 4, .nan = is_poisoned, .min = -s->largest, .max = s->largest };
    }
    call.pid = 10;
    call.thread = 11;
    call.number = 5;
    opd_failure failure = { .outcome = s->outcome, .thread = 11, .call_number = 5, .index_rank = -1 };
    snprintf(failure.operand, sizeof(failure.operand), "%s", s->operand);
    snprintf(failure.label, sizeof(failure.label), "%s", s->label);
    path_of(path, sizeof(path), which);
    assert_int_equal(opd_writer_open(&writer, path, &header), OPD_OK);
    assert_int_equal(opd_writer_call(writer, &call), OPD_OK);
    assert_int_equal(opd_writer_failure(writer, &failure), OPD_OK);
    assert_int_equal(opd_writer_close(writer), OPD_OK);
}

static opd_grouping *group_in_order(const size_t *order)
{
    opd_grouping *grouping = NULL;
    assert_int_equal(opd_grouping_new(&grouping), OPD_OK);
    for (size_t i = 0; i < OPD_COUNT(samples); i++) {
        char path[128];
        opd_bundle *bundle = NULL;
        path_of(path, sizeof(path), order[i]);
        assert_int_equal(opd_bundle_open(&bundle, path), OPD_OK);
        assert_int_equal(opd_grouping_add(grouping, bundle), OPD_OK);
        opd_bundle_close(bundle);
    }
    return grouping;
}

static const opd_group *with_key(opd_grouping *grouping, const char *key)
{
    for (uint32_t i = 0; i < opd_grouping_count(grouping); i++) {
        const opd_group *group = opd_grouping_at(grouping, i);
        if (strcmp(group->key, key) == 0) {
            return group;
        }
    }
    fail_msg("no group %s", key);
    return NULL;
}

static void one_bug_with_three_shapes_is_one_group(void **state)
{
    (void)state;
    const size_t order[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    opd_grouping *grouping = group_in_order(order);
    assert_int_equal(opd_grouping_count(grouping), 5);
    const opd_group *group = with_key(grouping, "oob-read|gemv|complex|x|oob-read");
    assert_int_equal(group->count, 3);
    assert_non_null(strstr(group->members[group->representative].path, "/0.opsb"));
    for (uint32_t i = 0; i < group->count; i++) {
        assert_true(group->members[i].why[0] != '\0');
    }
    assert_true(group->reason[0] != '\0');
    opd_grouping_free(grouping);
}

static void two_bugs_of_one_operator_are_two_groups(void **state)
{
    (void)state;
    const size_t order[] = { 8, 7, 6, 5, 4, 3, 2, 1, 0 };
    opd_grouping *grouping = group_in_order(order);
    const opd_group *unread = with_key(grouping, "nan|gemm|real|C|unread-operand-read");
    const opd_group *made = with_key(grouping, "nan|gemm|real|C|nan-made");
    const opd_group *crash = with_key(grouping, "crash|gemm|real|-|-");
    assert_int_equal(unread->count, 3);
    assert_int_equal(made->count, 1);
    assert_int_equal(crash->count, 1);
    assert_non_null(strstr(unread->reason, "A, which must not be read"));
    assert_string_not_equal(unread->id, made->id);
    assert_non_null(strstr(unread->members[unread->representative].path, "/1.opsb"));
    opd_grouping_free(grouping);
}

static void one_bug_in_float_and_double_is_one_group_and_in_complex_another(void **state)
{
    (void)state;
    const size_t order[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    opd_grouping *grouping = group_in_order(order);
    const opd_group *real = with_key(grouping, "nan|gemm|real|C|unread-operand-read");
    const opd_group *complex = with_key(grouping, "nan|gemm|complex|C|unread-operand-read");
    assert_int_equal(real->count, 3);
    assert_non_null(strstr(real->members[0].path, "/1.opsb"));
    assert_non_null(strstr(real->members[1].path, "/3.opsb"));
    assert_non_null(strstr(real->members[2].path, "/7.opsb"));
    assert_int_equal(complex->count, 1);
    assert_string_not_equal(real->id, complex->id);
    opd_grouping_free(grouping);
}

static void the_order_of_additions_changes_nothing(void **state)
{
    (void)state;
    const size_t forward[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    const size_t shuffled[] = { 3, 7, 6, 0, 8, 5, 2, 4, 1 };
    opd_grouping *a = group_in_order(forward);
    opd_grouping *b = group_in_order(shuffled);
    assert_int_equal(opd_grouping_count(a), opd_grouping_count(b));
    for (uint32_t i = 0; i < opd_grouping_count(a); i++) {
        const opd_group *x = opd_grouping_at(a, i);
        const opd_group *y = opd_grouping_at(b, i);
        assert_string_equal(x->id, y->id);
        assert_string_equal(x->reason, y->reason);
        assert_int_equal(x->representative, y->representative);
        for (uint32_t k = 0; k < x->count; k++) {
            assert_string_equal(x->members[k].path, y->members[k].path);
            assert_string_equal(x->members[k].why, y->members[k].why);
        }
    }
    opd_grouping_free(a);
    opd_grouping_free(b);
}

/* Ids stand in users' notes: this one must never change. */
static void ids_are_stable(void **state)
{
    (void)state;
    const size_t order[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    opd_grouping *grouping = group_in_order(order);
    /* FNV-1a 64 of the key, computed with python. */
    assert_string_equal(with_key(grouping, "nan|gemm|real|C|unread-operand-read")->id, "18069ed62e02691f");
    opd_grouping_free(grouping);
}

static void nothing_added_is_no_group(void **state)
{
    (void)state;
    opd_grouping *grouping = NULL;
    assert_int_equal(opd_grouping_new(&grouping), OPD_OK);
    assert_int_equal(opd_grouping_count(grouping), 0);
    assert_null(opd_grouping_at(grouping, 0));
    opd_grouping_free(grouping);
    opd_grouping_free(NULL);
}

static int make_bundles(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    for (size_t i = 0; i < OPD_COUNT(samples); i++) {
        write_sample(i);
    }
    return 0;
}

static int remove_bundles(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(samples); i++) {
        char path[128];
        path_of(path, sizeof(path), i);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bug_with_three_shapes_is_one_group),
        cmocka_unit_test(two_bugs_of_one_operator_are_two_groups),
        cmocka_unit_test(one_bug_in_float_and_double_is_one_group_and_in_complex_another),
        cmocka_unit_test(the_order_of_additions_changes_nothing),
        cmocka_unit_test(ids_are_stable),
        cmocka_unit_test(nothing_added_is_no_group),
    };
    return cmocka_run_group_tests(tests, make_bundles, remove_bundles);
}
