/* SPDX-License-Identifier: Apache-2.0 */
/* A packed call comes back as it was, and no cut or changed one leads outside its words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "packed.h"

#define WORDS 256

static void add(opd_call *call, const char *name, opd_value_kind kind)
{
    opd_value *value = &call->attrs[call->attr_count++];
    snprintf(value->name, sizeof value->name, "%s", name);
    value->kind = kind;
}

static void make(opd_call *call)
{
    const int64_t shape[] = { 2, 3, 5 };
    memset(call, 0, sizeof *call);
    snprintf(call->domain, sizeof call->domain, "dnnl");
    snprintf(call->name, sizeof call->name, "convolution backward_weights");
    call->dtype = OPD_F32;
    call->symbols[0] = (opd_value){ .name = "mb", .kind = OPD_VALUE_INT, .i = -7 };
    call->symbol_count = 1;
    add(call, "a_name_of_thirty_one_characters", OPD_VALUE_TEXT);
    memset(call->attrs[0].text, 'x', sizeof call->attrs[0].text - 1);
    add(call, "epsilon", OPD_VALUE_REAL);
    call->attrs[1].re = 1e-5;
    add(call, "strides", OPD_VALUE_INTS);
    call->attrs[2].i = OPD_MAX_INTS;
    call->attrs[2].ints[OPD_MAX_INTS - 1] = INT64_MIN;
    opd_operand *operand = &call->operands[call->operand_count++];
    snprintf(operand->name, sizeof operand->name, "src");
    operand->role = OPD_ROLE_INOUT;
    operand->address = UINT64_C(0x7f0123456789);
    assert_int_equal(opd_tensor_contiguous(&operand->view, OPD_I8, 3, shape, NULL), OPD_OK);
    operand->view.stride[0] = 99;
    operand->view.storage_bytes = 0; /* of this process, as data is */
}

static void packed_call_comes_back(void **state)
{
    static opd_call call;
    static opd_call again;
    uint64_t words[WORDS];
    uint16_t address_at[OPD_MAX_OPERANDS];
    (void)state;
    make(&call);
    uint32_t count = opd_pack_call(words, WORDS, &call, address_at);
    assert_true(count > 0);
    assert_int_equal(words[address_at[0]], call.operands[0].address);
    assert_true(opd_unpack_call(&again, words, count));
    assert_memory_equal(&again, &call, sizeof call);
}

static void packed_call_that_is_cut_is_refused(void **state)
{
    static opd_call call;
    static opd_call again;
    uint64_t words[WORDS];
    uint16_t address_at[OPD_MAX_OPERANDS];
    (void)state;
    make(&call);
    uint32_t count = opd_pack_call(words, WORDS, &call, address_at);
    for (uint32_t cut = 0; cut < count; cut++) {
        assert_false(opd_unpack_call(&again, words, cut));
        assert_int_equal(opd_pack_call(words + cut, cut, &call, address_at), 0); /* nor does it fit in less */
        assert_int_equal(opd_pack_call(words, WORDS, &call, address_at), count);
    }
}

static void changed_words_are_read_within_their_bounds(void **state)
{
    static opd_call call;
    static opd_call again;
    uint64_t words[WORDS];
    uint16_t address_at[OPD_MAX_OPERANDS];
    (void)state;
    make(&call);
    uint32_t count = opd_pack_call(words, WORDS, &call, address_at);
    for (uint32_t i = 0; i < count * 8; i++) {
        uint8_t byte = ((uint8_t *)words)[i];
        ((uint8_t *)words)[i] = 0xff;
        if (opd_unpack_call(&again, words, count)) {
            assert_true(again.operand_count <= OPD_MAX_OPERANDS &&
                        again.attr_count <= OPD_MAX_ATTRS + OPD_MAX_OPERANDS);
        }
        ((uint8_t *)words)[i] = byte;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_call_comes_back),
        cmocka_unit_test(packed_call_that_is_cut_is_refused),
        cmocka_unit_test(changed_words_are_read_within_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
