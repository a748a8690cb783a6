/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operators and routines: contracts from the lists of ops.def, compiled once, on first use, into static
 * memory (no allocation: this runs inside recorded programs).
 */
#include "registry.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "plan.h"

enum { MAX_OPS = 96, MAX_ROUTINES = 256, MAX_INSTRUCTIONS = 6144 };
enum { STATE_EMPTY, STATE_BUSY, STATE_READY, STATE_BROKEN };

static const struct contract_list {
    const opd_op *ops;
    const int *count;
} lists[] = {
#define OPD_CONTRACTS(list) { opd_contracts_##list, &opd_contracts_##list##_count },
#include "ops.def"
#undef OPD_CONTRACTS
};

static opd_plan plans[MAX_OPS];
static opd_routine routines[MAX_ROUTINES];
static int routine_count;
static opd_instruction instructions[MAX_INSTRUCTIONS];
static atomic_int state;

int opd_op_count(void)
{
    int count = 0;
    for (size_t i = 0; i < OPD_COUNT(lists); i++) {
        count += *lists[i].count;
    }
    return count;
}

const opd_op *opd_op_at(int index)
{
    for (size_t i = 0; i < OPD_COUNT(lists) && index >= 0; i++) {
        if (index < *lists[i].count) {
            return &lists[i].ops[index];
        }
        index -= *lists[i].count;
    }
    return NULL;
}

static int index_of(const opd_op *op)
{
    int base = 0;
    for (size_t i = 0; i < OPD_COUNT(lists); i++) {
        if (op >= lists[i].ops && op < lists[i].ops + *lists[i].count) {
            return base + (int)(op - lists[i].ops);
        }
        base += *lists[i].count;
    }
    return -1;
}

const opd_op *opd_op_find(const char *domain, const char *name)
{
    for (int i = 0; i < opd_op_count(); i++) {
        const opd_op *op = opd_op_at(i);
        if (strcmp(op->domain, domain) == 0 && strcmp(op->name, name) == 0) {
            return op;
        }
    }
    return NULL;
}

/* "sgemm:f32 dgemm:f64" into the table of routines. */
static opd_status add_routines(const opd_op *op)
{
    const char *at = op->routines;
    while (at != NULL && *at != '\0') {
        const char *colon = strchr(at, ':');
        size_t size = colon != NULL ? (size_t)(colon - at) : sizeof routines[0].name;
        if (size >= sizeof routines[0].name || routine_count == MAX_ROUTINES) {
            return opd_fail(OPD_E_INVALID, "contract of %s: routines: %s", op->name, at);
        }
        size_t type_size = strcspn(colon + 1, " ");
        char type[8] = { 0 };
        memcpy(type, colon + 1, type_size < sizeof type ? type_size : 0);
        opd_routine *routine = &routines[routine_count];
        *routine = (opd_routine){ .op = op, .dtype = opd_dtype_parse(type), .id = routine_count };
        memcpy(routine->name, at, size);
        if (routine->dtype == OPD_DTYPE_NONE) {
            return opd_fail(OPD_E_INVALID, "contract of %s: unknown dtype: %s", op->name, type);
        }
        routine_count++;
        at = colon + 1 + type_size;
        at += strspn(at, " ");
    }
    return OPD_OK;
}

static opd_status compile_all(void)
{
    opd_pool pool = { .code = instructions, .capacity = MAX_INSTRUCTIONS };
    int count = opd_op_count();
    if (count > MAX_OPS) {
        return opd_fail(OPD_E_LIMIT, "%d contracts, room for %d", count, MAX_OPS);
    }
    for (int i = 0; i < count; i++) {
        opd_status status = opd_plan_compile(&plans[i], &pool, opd_op_at(i));
        if (status == OPD_OK) {
            status = add_routines(opd_op_at(i));
        }
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

opd_status opd_ops_compile(void)
{
    int seen = atomic_load_explicit(&state, memory_order_acquire);
    if (seen == STATE_READY) {
        return OPD_OK;
    }
    seen = STATE_EMPTY;
    if (atomic_compare_exchange_strong(&state, &seen, STATE_BUSY)) {
        opd_status status = compile_all();
        atomic_store_explicit(&state, status == OPD_OK ? STATE_READY : STATE_BROKEN, memory_order_release);
        return status;
    }
    while (atomic_load_explicit(&state, memory_order_acquire) == STATE_BUSY) {
        sched_yield();
    }
    if (atomic_load_explicit(&state, memory_order_acquire) == STATE_READY) {
        return OPD_OK;
    }
    return opd_fail(OPD_E_INVALID, "the contracts of this build are broken");
}

const opd_plan *opd_plan_of(const opd_op *op)
{
    int index = op != NULL ? index_of(op) : -1;
    if (index < 0) {
        opd_fail(OPD_E_INVALID, "the operator is not in the table of this build");
        return NULL;
    }
    return opd_ops_compile() == OPD_OK ? &plans[index] : NULL;
}

static bool is_value_like(const opd_plan_value *expected, const opd_value *value)
{
    size_t size = (size_t)expected->name.size;
    if (size >= sizeof value->name || memcmp(value->name, expected->name.at, size) != 0 || value->name[size] != '\0') {
        return false;
    }
    switch (expected->use) {
    case OPD_USE_CHOICE:
        return value->kind == OPD_VALUE_CHOICE;
    case OPD_USE_SCALAR:
        return value->kind == OPD_VALUE_REAL || value->kind == OPD_VALUE_COMPLEX;
    default:
        return value->kind == OPD_VALUE_INT;
    }
}

const opd_plan *opd_plan_of_call(const opd_call *call)
{
    const opd_plan *plan = opd_plan_of(call->op);
    if (plan == NULL) {
        return NULL;
    }
    if (call->symbol_count != plan->symbol_count || call->attr_count != plan->slot_count - plan->symbol_count ||
        call->operand_count != plan->operand_count) {
        opd_fail(OPD_E_INVALID, "the call of %s does not have the values and operands of its contract", call->op->name);
        return NULL;
    }
    for (int i = 0; i < plan->slot_count; i++) {
        const opd_value *value = i < plan->symbol_count ? &call->symbols[i] : &call->attrs[i - plan->symbol_count];
        if (!is_value_like(&plan->values[i], value)) {
            opd_fail(OPD_E_INVALID, "the call of %s lacks its value %.*s", call->op->name, plan->values[i].name.size,
                     plan->values[i].name.at);
            return NULL;
        }
    }
    return plan;
}

int opd_routine_count(void)
{
    return opd_ops_compile() == OPD_OK ? routine_count : 0;
}

const opd_routine *opd_routine_at(int id)
{
    return id >= 0 && id < opd_routine_count() ? &routines[id] : NULL;
}

const opd_routine *opd_routine_find(const char *name)
{
    int count = opd_routine_count();
    for (int i = 0; i < count; i++) {
        if (strcmp(routines[i].name, name) == 0) {
            return &routines[i];
        }
    }
    return NULL;
}
