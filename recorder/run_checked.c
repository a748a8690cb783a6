/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operator with a safety net: the fast implementation runs, its outputs are looked at, and what is wrong with them costs the caller no
 * more than one run of the reference. Works with the recorder off; on, the failing call is in the bundle with its inputs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/record.h>

#define MAX_KEPT ((uint64_t)8 << 30)

/* Contents of operands, packed one after the other. */
typedef struct kept {
    void *packed[OPD_MAX_OPERANDS];
} kept;

static bool has_elements(const opd_operand *operand)
{
    return operand->view.data != NULL && (operand->flags & OPD_OPERAND_ABSENT) == 0 &&
           opd_tensor_existing(&operand->view) > 0;
}

static void kept_done(kept *own)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(own->packed[i]);
    }
}

/* Copies operands of these roles. */
static opd_status keep(kept *out, const opd_call *call, bool (*is_wanted)(opd_role role))
{
    kept made = { { NULL } };
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (!is_wanted(operand->role) || !has_elements(operand)) {
            continue;
        }
        uint64_t bytes = opd_tensor_packed_bytes(&operand->view);
        opd_status status = bytes <= MAX_KEPT ? opd_alloc(&made.packed[i], (size_t)bytes) : OPD_E_NOMEM;
        if (status != OPD_OK) {
            kept_done(&made);
            return opd_fail(OPD_E_NOMEM, "%s: no room to keep %s aside", call->name, operand->name);
        }
        opd_tensor_pack(made.packed[i], &operand->view);
    }
    *out = made;
    return OPD_OK;
}

static void put_back(const opd_call *call, const kept *own)
{
    for (int i = 0; i < call->operand_count; i++) {
        if (own->packed[i] != NULL) {
            opd_tensor_unpack(&call->operands[i].view, own->packed[i]);
        }
    }
}

static bool is_in_out(opd_role role)
{
    return role == OPD_ROLE_INOUT;
}

static bool is_written(opd_role role)
{
    return (role & OPD_ROLE_OUT) != 0;
}

/* Is anything not finite among the operands of a role? */
static bool has_nonfinite(const opd_call *call, opd_role role, const char **name)
{
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        bool is_read = (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0 || role == OPD_ROLE_OUT;
        opd_health health;
        if ((operand->role & role) == 0 || !is_read || !has_elements(operand)) {
            continue;
        }
        opd_tensor_nonfinite(&health, &operand->view);
        if (health.nan + health.pos_inf + health.neg_inf > 0) {
            *name = operand->name;
            return true;
        }
    }
    return false;
}

/* Both in row-major order: walks may differ, values may not. */
static bool is_close(const opd_tensor *got, const void *want_packed, double tolerance)
{
    int64_t count = opd_tensor_count(got);
    opd_tensor want = *got;
    void *memory = NULL;
    int64_t low = 0;
    int64_t high = 0;
    opd_tensor_span(got, &low, &high);
    if (opd_alloc(&memory, (size_t)(high - low)) != OPD_OK) {
        return true; /* no verdict is no failure */
    }
    want.data = (uint8_t *)memory - low;
    opd_tensor_unpack(&want, want_packed);
    bool is_right = true;
    for (int64_t flat = 0; flat < count && is_right; flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(got, flat, index);
        if (!opd_tensor_exists(got, index)) {
            continue;
        }
        long double a = opd_element_load_wide(got->dtype, (const uint8_t *)got->data + opd_tensor_offset(got, index));
        long double b = opd_element_load_wide(got->dtype, (const uint8_t *)want.data + opd_tensor_offset(&want, index));
        is_right = a == b || (isnan(a) && isnan(b)) || fabsl(a - b) <= (long double)tolerance * (1 + fabsl(b));
    }
    opd_free(memory);
    return is_right;
}

/* The outputs in place, which are the reference's, against those of fast. */
static bool differs(const opd_call *call, const kept *fast, double tolerance, const char **name)
{
    for (int i = 0; i < call->operand_count; i++) {
        if (fast->packed[i] != NULL && !is_close(&call->operands[i].view, fast->packed[i], tolerance)) {
            *name = call->operands[i].name;
            return true;
        }
    }
    return false;
}

/* From here on the operator is unstable; the bundle has the call, with its inputs. */
static void give_up(opd_checked *checked, const opd_call *call, const char *what, const char *operand)
{
    char text[192];
    __atomic_store_n(&checked->is_unstable, true, __ATOMIC_RELEASE);
    __atomic_fetch_add(&checked->fallbacks, 1, __ATOMIC_RELAXED);
    snprintf(text, sizeof(text), "%.31s.%.31s: %s%s%.31s; the reference took over", call->domain, call->name, what,
             operand[0] != '\0' ? " in " : "", operand);
    opd_record_mark(text, (int64_t)checked->fallbacks);
    opd_record_trigger(text);
}

/* What was found wrong with fast's outputs, and where; what NULL = nothing. */
typedef struct finding {
    const char *what, *operand;
} finding;

/* Fast's outputs are in place. When nothing is found, what is to be in place is. */
static finding judge(opd_checked *checked, const opd_call *call, const kept *before, bool is_shadow, bool was_finite)
{
    finding found = { NULL, "" };
    kept fast = { { NULL } };
    if (was_finite && has_nonfinite(call, OPD_ROLE_OUT, &found.operand)) {
        found.what = "NaN or Inf made of finite inputs";
        return found;
    }
    if (!is_shadow || keep(&fast, call, is_written) != OPD_OK) {
        return found;
    }
    __atomic_fetch_add(&checked->shadows, 1, __ATOMIC_RELAXED);
    put_back(call, before);
    opd_status status = checked->reference(call, checked->context);
    if (status == OPD_OK && differs(call, &fast, checked->tolerance, &found.operand)) {
        found.what = "another result than the reference";
    }
    if (found.what == NULL) { /* a reference that cannot judge leaves the result as it was */
        put_back(call, &fast);
    }
    kept_done(&fast);
    return found;
}

opd_status opd_run_checked(opd_checked *checked, const opd_call *call)
{
    uint64_t number = __atomic_fetch_add(&checked->calls, 1, __ATOMIC_RELAXED);
    finding found = { "it gave up", "" };
    const char *unused = NULL;
    kept before = { { NULL } };
    if (__atomic_load_n(&checked->is_unstable, __ATOMIC_ACQUIRE)) {
        uint64_t token = opd_record_enabled ? opd_record_begin(call) : 0;
        opd_status status = checked->reference(call, checked->context);
        opd_record_end(token, call, (int)status);
        return status;
    }
    opd_status status = keep(&before, call, is_in_out);
    if (status != OPD_OK) {
        return status;
    }
    bool is_shadow = checked->shadow_every > 0 && number % checked->shadow_every == 0;
    bool was_finite = !has_nonfinite(call, OPD_ROLE_IN, &unused);
    uint64_t token = opd_record_enabled ? opd_record_begin(call) : 0;
    status = checked->fast(call, checked->context);
    opd_record_end(token, call, (int)status);
    if (status == OPD_OK) {
        found = judge(checked, call, &before, is_shadow, was_finite);
    }
    if (found.what != NULL) {
        put_back(call, &before);
        status = checked->reference(call, checked->context);
        give_up(checked, call, found.what, found.operand);
    }
    kept_done(&before);
    return status;
}
