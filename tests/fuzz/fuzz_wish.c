/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: texts that become calls. The first byte says which: a wish (shapes, attributes, outputs by lines), an expression
 * over a call, or a contract itself (signature, attributes, types, defaults by lines). The operator is a sample by the first byte,
 * or, with a first line "@NAME", one of this build. What is made must hold together; what is refused must say why in one line.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "general_ops.h"
#include "plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES = 5, TEXT = 4000 };

static void require(int holds)
{
    if (!holds) {
        abort();
    }
}

static void require_refusal(opd_status status)
{
    const char *text = opd_error_text();
    require(status != OPD_OK && text[0] != '\0' && strchr(text, '\n') == NULL);
}

static void register_once(void)
{
    static bool is_done;
    for (int i = 0; i < general_op_count && !is_done; i++) {
        require(opd_op_register(&general_ops[i]) == OPD_OK);
    }
    is_done = true;
}

/* A bound call stays as it is when it is bound again, and its symbols can be set to what they are. */
static void require_consistent(opd_call *call)
{
    char text[512];
    const opd_operand *overflow = NULL;
    require(opd_call_check(call, text, sizeof text, &overflow));
    for (int i = 0; i < call->operand_count; i++) {
        bool is_absent = (call->operands[i].flags & OPD_OPERAND_ABSENT) != 0;
        require(is_absent || opd_tensor_check(&call->operands[i].view) == OPD_OK);
    }
    opd_call_describe(text, sizeof text, call);
    (void)opd_call_flops(call);
    (void)opd_call_bytes(call);
    for (int i = 0; i < call->symbol_count; i++) {
        opd_call copy = *call;
        (void)opd_call_set(&copy, call->symbols[i].name, 3);
        (void)opd_call_set(&copy, call->symbols[i].name, 0);
    }
    require(opd_call_compact(call) == OPD_OK);
}

static void try_wish(const opd_op *op, char *const *lines)
{
    opd_call call;
    opd_call_wish wish = { .shapes = lines[0][0] != '\0' ? lines[0] : NULL,
                           .attributes = lines[1],
                           .outputs = lines[2] };
    opd_status status = opd_call_make(&call, op, &wish);
    if (status == OPD_OK) {
        require_consistent(&call);
    } else {
        require_refusal(status);
    }
}

static void try_expression(const opd_op *op, char *const *lines)
{
    opd_call call;
    int64_t value = 0;
    require(opd_call_make(&call, op, &(opd_call_wish){ 0 }) == OPD_OK);
    opd_status status = opd_call_eval(&value, &call, lines[0]);
    if (status != OPD_OK) {
        require_refusal(status);
    }
}

static void try_contract(char *const *lines)
{
    static opd_plan plan;
    static opd_instruction code[2048];
    opd_op op = { .domain = "fuzz",
                  .name = "op",
                  .signature = lines[0],
                  .attributes = lines[1],
                  .types = lines[2],
                  .defaults = lines[3] };
    opd_pool pool = { .code = code, .capacity = (int)OPD_COUNT(code) };
    memset(&plan, 0, sizeof plan);
    opd_status status = opd_plan_compile(&plan, &pool, &op);
    if (status != OPD_OK) {
        require_refusal(status);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT + 1] = { 0 };
    char *lines[LINES] = { text, text + TEXT, text + TEXT, text + TEXT, text + TEXT };
    register_once();
    if (size < 1 || size - 1 > TEXT) {
        return 0;
    }
    memcpy(text, data + 1, size - 1);
    for (size_t i = 1; i < LINES; i++) {
        char *end = strchr(lines[i - 1], '\n');
        if (end == NULL) {
            break;
        }
        *end = '\0';
        lines[i] = end + 1;
    }
    for (size_t i = 0; i < LINES; i++) {
        lines[i][strcspn(lines[i], "\n")] = '\0';
    }
    opd_error_clear();
    const opd_op *op = &general_ops[data[0] / 3 % general_op_count];
    for (int i = 0; lines[0][0] == '@' && opd_op_at(i) != NULL; i++) {
        bool is_named = opd_op_at(i)->routines == NULL && strcmp(opd_op_at(i)->name, lines[0] + 1) == 0;
        op = is_named ? opd_op_at(i) : op;
    }
    char **from = lines + (lines[0][0] == '@');
    switch (data[0] % 3) {
    case 0:
        try_wish(op, from);
        break;
    case 1:
        try_expression(op, from);
        break;
    default:
        try_contract(lines);
        break;
    }
    return 0;
}
