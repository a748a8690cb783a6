/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operators and routines: contracts from the lists of ops.def, compiled once into static memory (no
 * allocation: this runs inside recorded programs). Those of BLAS all at once, on first use, for the table of routines needs
 * them; any other when it is first asked for. Contracts from outside follow them in a list that only grows.
 */
#include "registry.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"
#include "dnnl/dnnl_define.h"

enum { MAX_OPS = 256, MAX_ROUTINES = 256, MAX_INSTRUCTIONS = 24576, MAX_OUTSIDE_INSTRUCTIONS = 2048 };
enum { STATE_EMPTY, STATE_READY, STATE_BROKEN };

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
static int instruction_count;
static atomic_int plan_states[MAX_OPS];
static atomic_int state; /* of the contracts of BLAS and the table of routines */
static atomic_bool is_busy;

/* A contract from outside; never freed. */
struct outside {
    const opd_op *op;
    _Atomic(struct outside *) next;
    opd_plan plan;
    opd_instruction instructions[MAX_OUTSIDE_INSTRUCTIONS];
};
static _Atomic(struct outside *) first_outside;

/* What compiles takes turns. Not a mutex: nothing here may need a thread library to be alive. */
static void take_turn(void)
{
    while (atomic_exchange_explicit(&is_busy, true, memory_order_acquire)) {
        sched_yield();
    }
}

static void end_turn(void)
{
    atomic_store_explicit(&is_busy, false, memory_order_release);
}

static int built_in_count(void)
{
    int count = 0;
    for (size_t i = 0; i < OPD_COUNT(lists); i++) {
        count += *lists[i].count;
    }
    return count;
}

int opd_op_count(void)
{
    int count = built_in_count();
    for (const struct outside *item = atomic_load(&first_outside); item != NULL; item = item->next) {
        count++;
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
    for (const struct outside *item = atomic_load(&first_outside); item != NULL && index >= 0; item = item->next) {
        if (index-- == 0) {
            return item->op;
        }
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
    const opd_op *op = strcmp(domain, "dnnl") == 0 ? opd_dnnl_op(name) : NULL;
    if (op != NULL) {
        return op;
    }
    for (int i = 0; (op = opd_op_at(i)) != NULL; i++) {
        if (strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0) {
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

/* Compiles the contract at index unless it is; the caller has the turn. */
static opd_status compile(int index)
{
    int seen = atomic_load_explicit(&plan_states[index], memory_order_acquire);
    if (seen != STATE_EMPTY) {
        return seen == STATE_READY ? OPD_OK
                                   : opd_fail(OPD_E_INVALID, "the contract of %s is broken", opd_op_at(index)->name);
    }
    opd_pool pool = { .code = instructions, .capacity = MAX_INSTRUCTIONS, .count = instruction_count };
    opd_status status = opd_plan_compile(&plans[index], &pool, opd_op_at(index));
    instruction_count = pool.count;
    atomic_store_explicit(&plan_states[index], status == OPD_OK ? STATE_READY : STATE_BROKEN, memory_order_release);
    return status;
}

static opd_status compile_routines(void)
{
    int count = built_in_count();
    if (count > MAX_OPS) {
        return opd_fail(OPD_E_LIMIT, "%d contracts, room for %d", count, MAX_OPS);
    }
    for (int i = 0; i < count; i++) {
        const opd_op *op = opd_op_at(i);
        opd_status status = op->routines != NULL ? compile(i) : OPD_OK;
        if (status == OPD_OK) {
            status = add_routines(op);
        }
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

static opd_status compile_table_once(void)
{
    int seen = atomic_load_explicit(&state, memory_order_acquire);
    if (seen == STATE_READY) {
        return OPD_OK;
    }
    take_turn();
    opd_status status = OPD_OK;
    seen = atomic_load_explicit(&state, memory_order_relaxed);
    if (seen == STATE_EMPTY) {
        status = compile_routines();
        atomic_store_explicit(&state, status == OPD_OK ? STATE_READY : STATE_BROKEN, memory_order_release);
    } else if (seen == STATE_BROKEN) {
        status = opd_fail(OPD_E_INVALID, "the contracts of this build are broken");
    }
    end_turn();
    return status;
}

static const opd_plan *built_in_plan(int index)
{
    if (atomic_load_explicit(&plan_states[index], memory_order_acquire) == STATE_READY) {
        return &plans[index];
    }
    if (compile_table_once() != OPD_OK) {
        return NULL;
    }
    take_turn();
    opd_status status = compile(index);
    end_turn();
    return status == OPD_OK ? &plans[index] : NULL;
}

opd_status opd_ops_compile(void)
{
    opd_status status = compile_table_once();
    for (int i = 0; i < built_in_count() && status == OPD_OK; i++) {
        status = built_in_plan(i) != NULL ? OPD_OK : OPD_E_INVALID;
    }
    return status;
}

const opd_plan *opd_plan_of(const opd_op *op)
{
    int index = op != NULL ? index_of(op) : -1;
    if (index >= 0) {
        return built_in_plan(index);
    }
    for (const struct outside *item = atomic_load(&first_outside); item != NULL; item = item->next) {
        if (item->op == op) {
            return &item->plan;
        }
    }
    opd_fail(OPD_E_INVALID, "the operator is not in the table of this build");
    return NULL;
}

static opd_status check_texts(const opd_op *op)
{
    if (op->domain == NULL || op->name == NULL || op->signature == NULL) {
        return opd_fail(OPD_E_INVALID, "a contract without a domain, name or signature");
    }
    if (op->domain[0] == '\0' || strlen(op->domain) >= OPD_NAME || op->name[0] == '\0' ||
        strlen(op->name) >= OPD_NAME) {
        return opd_fail(OPD_E_INVALID, "contract of %.40s: domain and name have 1 to %d bytes", op->name, OPD_NAME - 1);
    }
    if (op->call != NULL || op->routines != NULL) {
        return opd_fail(OPD_E_INVALID, "contract of %s: call and routines are those of BLAS", op->name);
    }
    return OPD_OK;
}

/* Appends, so that those who walk the list see it whole. */
static void append_outside(struct outside *item)
{
    struct outside *last = atomic_load(&first_outside);
    while (last != NULL && last->next != NULL) {
        last = last->next;
    }
    if (last == NULL) {
        atomic_store(&first_outside, item);
    } else {
        last->next = item;
    }
}

opd_status opd_op_register(const opd_op *op)
{
    void *block = NULL;
    opd_status status = check_texts(op);
    if (status == OPD_OK) {
        status = opd_alloc(&block, sizeof(struct outside));
    }
    if (status != OPD_OK) {
        return status;
    }
    struct outside *item = block;
    item->op = op;
    opd_pool pool = { .code = item->instructions, .capacity = MAX_OUTSIDE_INSTRUCTIONS };
    take_turn();
    if (opd_op_find(op->domain, op->name) != NULL) {
        status = opd_fail(OPD_E_INVALID, "there is an operator %s in %s already", op->name, op->domain);
    } else {
        status = opd_plan_compile(&item->plan, &pool, op);
    }
    if (status == OPD_OK) {
        append_outside(item);
    } else {
        opd_free(item);
    }
    end_turn();
    return status;
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

/* On its own: a binding takes 13 KiB of stack, and calls of BLAS come here from the smallest stacks there are. */
__attribute__((noinline)) static bool is_general_call(const opd_call *call, const opd_plan *plan)
{
    opd_binding binding;
    return opd_binding_of_call(&binding, call, plan) == OPD_OK;
}

const opd_plan *opd_plan_of_call(const opd_call *call)
{
    const opd_plan *plan = opd_plan_of(call->op);
    if (plan == NULL) {
        return NULL;
    }
    if (plan->is_general) {
        return is_general_call(call, plan) ? plan : NULL;
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
    return compile_table_once() == OPD_OK ? routine_count : 0;
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
