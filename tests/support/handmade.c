/* SPDX-License-Identifier: Apache-2.0 */
/* Cases made by hand for tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/random.h>

#include "handmade.h"

static void set_value(opd_call *call, const char *name, const char *text)
{
    opd_value *value = opd_call_value(call, name);
    char *end = NULL;
    if (value == NULL) {
        fail_msg("%s has no value %s", call->name, name);
        return;
    }
    switch (value->kind) {
    case OPD_VALUE_CHOICE:
        value->i = text[0];
        break;
    case OPD_VALUE_REAL:
        value->re = strtod(text, NULL);
        break;
    case OPD_VALUE_COMPLEX:
        value->re = strtod(text, &end);
        value->im = *end == ',' ? strtod(end + 1, NULL) : 0;
        break;
    default:
        value->i = strtoll(text, NULL, 10);
        break;
    }
}

static void fit_leading_dimensions(opd_call *call)
{
    static const char *const names[] = { "lda", "ldb", "ldc" };
    for (size_t i = 0; i < OPD_COUNT(names); i++) {
        opd_value *value = opd_call_value(call, names[i]);
        if (value != NULL) {
            value->i = 1;
        }
    }
    assert_int_equal(opd_call_compact(call), OPD_OK);
}

/* Two rounds: dimensions and letters first, then the smallest leading dimensions, then what the settings say of those. */
opd_call handmade_call(const char *routine, const char *settings)
{
    const opd_routine *found = opd_routine_find(routine);
    opd_call call;
    assert_non_null(found);
    assert_int_equal(opd_call_init(&call, found->op, found->name, found->dtype), OPD_OK);
    call.flags |= OPD_CALL_CBLAS;
    for (int round = 0; round < 2; round++) {
        char text[256];
        char *rest = text;
        snprintf(text, sizeof text, "%s", settings);
        for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
            char *equals = strchr(word, '=');
            if (strcmp(word, "row") == 0) {
                call.flags |= OPD_CALL_ROW_MAJOR;
            } else if (strcmp(word, "fortran") == 0) {
                call.flags &= ~(uint32_t)OPD_CALL_CBLAS;
            } else if (equals != NULL) {
                *equals = '\0';
                set_value(&call, word, equals + 1);
                *equals = '=';
            }
        }
        if (round == 0) {
            fit_leading_dimensions(&call);
        }
    }
    (void)opd_call_bind(&call); /* illegal values are wanted by some tests: the call is marked then */
    return call;
}

opd_case handmade_case(const opd_call *call, uint64_t seed)
{
    opd_case item;
    if (opd_case_allocate(&item, call, (uint64_t)1 << 30) != OPD_OK) {
        fail_msg("cannot allocate %s: %s", call->name, opd_error_text());
    }
    for (int i = 0; i < item.call.operand_count; i++) {
        opd_operand *operand = &item.call.operands[i];
        opd_fill fill = { .kind = OPD_FILL_UNIFORM, .a = -1, .b = 1, .seed = seed, .stream = (uint64_t)i };
        if (operand->view.data != NULL && (operand->flags & OPD_OPERAND_RETURNED) == 0) {
            opd_tensor_fill(&operand->view, &fill);
        }
    }
    return item;
}

void handmade_set(opd_case *item, const char *operand, int64_t flat, double re, double im)
{
    opd_operand *found = opd_call_operand(&item->call, operand);
    int64_t index[OPD_MAX_RANK];
    assert_non_null(found);
    opd_tensor_unflatten(&found->view, flat, index);
    opd_element_store(found->view.dtype, (uint8_t *)found->view.data + opd_tensor_offset(&found->view, index), re, im);
}

opd_replay_options handmade_options(const char *library, const char *core, opd_guard guard)
{
    opd_replay_options options = OPD_REPLAY_OPTIONS_INIT;
    options.library = library;
    options.core = core;
    options.guard = guard;
    options.timeout_ms = 20000;
    options.worker = getenv("OPD_TEST_WORKER");
    return options;
}

opd_replay_result handmade_replay(const opd_case *item, const opd_failure *expected, const opd_replay_options *options)
{
    opd_replay_result result;
    if (opd_replay(&result, NULL, item, expected, options) != OPD_OK) {
        fail_msg("replay of %s: %s", item->call.name, opd_error_text());
    }
    return result;
}
