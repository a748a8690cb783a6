/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms of calls, interned in the process file: what calls of the C API have in common (names, attributes, views) is written once, and a
 * record in the ring is its form's number, the operands' addresses and the scalars. Forms are never changed or freed.
 */
#ifndef OPD_FORMS_H
#define OPD_FORMS_H

#include "session.h"

/* Numbers count from 1. 0: no room, or no form (too large). populate makes the pages present. Any thread of the process. */
uint32_t opd_form_add(opd_process *process, const opd_call *call, bool (*populate)(void *start, uint64_t bytes));

/* After a fork: the numbers that the parent gave stay good. */
void opd_forms_copy(opd_process *to, const opd_process *from, bool (*populate)(void *start, uint64_t bytes));

/* The form as a call without addresses and scalars; false: there is none of that number. Any process that maps the file. */
bool opd_form_read(opd_call *out, const opd_process *process, uint64_t number);

/* Words of a call that its form does not tell: an address for each operand, then the integer and real attributes in order. */
static inline bool opd_form_is_scalar(const opd_value *value)
{
    return value->kind == OPD_VALUE_INT || value->kind == OPD_VALUE_REAL;
}

static inline uint32_t opd_form_words(const opd_call *call)
{
    uint32_t words = (uint32_t)call->operand_count;
    for (int i = 0; i < call->attr_count; i++) {
        words += opd_form_is_scalar(&call->attrs[i]);
    }
    return words;
}

/* Puts them into the call: views get their memory. */
void opd_form_fill(opd_call *call, const uint64_t *words);

#endif
