/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large what a call computes may become, from its contract, its scalars and the statistics of its operands.
 */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "evidence.h"

/* Length of the operand's declaration that starts at text: up to a comma or an arrow outside brackets. */
static size_t declaration_size(const char *text)
{
    int depth = 0;
    size_t size = 0;
    for (; text[size] != '\0'; size++) {
        char now = text[size];
        depth += now == '(' || now == '[';
        depth -= now == ')' || now == ']';
        if (depth == 0 && (now == ',' || (now == '-' && text[size + 1] == '>'))) {
            break;
        }
    }
    return size;
}

void opd_condition_of(char *text, size_t size, const opd_op *op, const char *operand)
{
    size_t length = strlen(operand);
    const char *at = op == NULL ? "" : op->signature;
    text[0] = '\0';
    while (*at != '\0') {
        at += strspn(at, " ,->");
        size_t declared = declaration_size(at);
        const char *condition = strstr(at, " if(");
        bool is_it = strncmp(at, operand, length) == 0 && at[length] == ':';
        if (is_it && condition != NULL && condition < at + declared) {
            condition += strlen(" if(");
            int depth = 1;
            size_t used = 0;
            for (; *condition != '\0' && used + 1 < size; condition++) {
                depth += *condition == '(';
                depth -= *condition == ')';
                if (depth == 0) {
                    break;
                }
                text[used++] = *condition;
            }
            text[used] = '\0';
            return;
        }
        at += declared;
    }
}

/* Does the condition under which the contract reads an operand name the scalar? */
static bool depends_on(const opd_op *op, const char *operand, const char *scalar)
{
    char condition[160];
    size_t length = strlen(scalar);
    opd_condition_of(condition, sizeof(condition), op, operand);
    for (const char *at = strstr(condition, scalar); at != NULL; at = strstr(at + 1, scalar)) {
        bool is_word = (at == condition || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[length]);
        if (is_word) {
            return true;
        }
    }
    return false;
}

/* Is the scalar one of old content only, as beta is? By contract, it decides whether that is read, and nothing else is. */
static bool scales_old(const opd_call *call, const char *scalar)
{
    bool is_of_old = false;
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (!depends_on(call->op, operand->name, scalar)) {
            continue;
        }
        if ((operand->role & OPD_ROLE_OUT) == 0) {
            return false;
        }
        is_of_old = true;
    }
    return is_of_old;
}

/* A routine that returns its result has no scalar to scale that: one it is given is a term of it (sdsdot). */
static bool returns_result(const opd_call *call)
{
    bool is_returned = false;
    for (int i = 0; i < call->operand_count; i++) {
        is_returned |= (call->operands[i].flags & OPD_OPERAND_RETURNED) != 0;
    }
    return is_returned;
}

/* The routine's scalars, as a power of ten. One below 1 makes the result smaller, but need not make what the library computes on the way. */
static double scale_of(const opd_call *call, bool is_of_old)
{
    double scale = 0;
    for (int i = 0; call->op != NULL && call->op->level > 0 && i < call->attr_count; i++) {
        const opd_value *value = &call->attrs[i];
        bool is_scalar = value->kind == OPD_VALUE_REAL || value->kind == OPD_VALUE_COMPLEX;
        double size = is_scalar ? hypot(value->re, value->im) : 0;
        if (size > 1 && isfinite(size) && scales_old(call, value->name) == is_of_old) {
            scale += log10(size);
        }
    }
    return scale;
}

/* What the routine multiplies, as powers of ten: the operands it only reads, and the largest that it reads and writes. */
typedef struct factors {
    double inputs, old;
    int input_count, old_count;
} factors;

static factors factors_of(const evidence *facts)
{
    const opd_call *call = facts->call;
    factors found = { .inputs = 0 };
    for (int i = 0; i < call->operand_count; i++) {
        double size = opd_largest(&facts->before[i]);
        bool is_known = facts->has_health[i] && size > 0;
        if (!opd_must_be_read(&call->operands[i])) {
            continue;
        }
        if ((call->operands[i].role & OPD_ROLE_OUT) != 0) {
            found.old_count++;
            found.old = fmax(found.old, is_known ? log10(size) : 0);
        } else {
            found.input_count++;
            found.inputs += is_known ? log10(size) : 0;
        }
    }
    return found;
}

bool opd_may_overflow(const evidence *facts, double *estimate)
{
    int64_t terms = 1;
    opd_call copy = *facts->call;
    const opd_op *op = copy.op;
    factors found = factors_of(facts);
    bool has_sum = op != NULL && op->reduction != NULL;
    if (has_sum && opd_call_eval(&terms, &copy, op->reduction) != OPD_OK) {
        terms = 1;
    }
    bool is_in_place = found.input_count == 0 || found.old_count > 1 || opd_call_value(&copy, "diag") != NULL;
    bool is_square =
        has_sum && op->level >= 2 && found.input_count == 1 && !is_in_place && strcmp(op->reduction, "0") != 0;
    double range = opd_dtype_largest(copy.dtype);
    double scale = scale_of(&copy, false);
    bool has_term = returns_result(&copy);
    double product = found.inputs * (is_square ? 2 : 1) + (is_in_place ? found.old : 0) + (has_term ? 0 : scale) +
                     log10(terms > 1 ? (double)terms : 1);
    *estimate = fmax(fmax(product, found.old + scale_of(&copy, true)), has_term ? scale : 0);
    return *estimate > log10(range > 0 ? range : DBL_MAX) - 0.5;
}
