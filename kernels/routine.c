/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A routine as libraries export and call it: symbol names, arguments in order, CBLAS enumerations.
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "plan.h"

/*
 * Names seen in the field: netlib and OpenBLAS; OpenBLAS with SYMBOLSUFFIX 64_; the scipy-openblas wheels; the
 * _64 interface of netlib LAPACK 3.12. The last ones: OpenBLAS's complex dots that return their result.
 */
static const opd_name_pattern patterns[] = {
    { "cblas_%s", true, 4, false },         { "%s_", false, 4, false },
    { "%s_64_", false, 8, false },          { "cblas_%s64_", true, 8, false },
    { "cblas_%s_64", true, 8, false },      { "scipy_cblas_%s64_", true, 8, false },
    { "scipy_%s_64_", false, 8, false },    { "scipy_cblas_%s", true, 4, false },
    { "scipy_%s_", false, 4, false },       { "cblas_%s", true, 4, true },
    { "cblas_%s64_", true, 8, true },       { "cblas_%s_64", true, 8, true },
    { "scipy_cblas_%s64_", true, 8, true }, { "scipy_cblas_%s", true, 4, true },
};

int opd_name_pattern_count(void)
{
    return (int)OPD_COUNT(patterns);
}

const opd_name_pattern *opd_name_pattern_at(int index)
{
    return index >= 0 && index < opd_name_pattern_count() ? &patterns[index] : NULL;
}

bool opd_routine_symbol(char *text, size_t size, const opd_routine *routine, const opd_name_pattern *pattern)
{
    const char *place = strstr(pattern->format, "%s");
    const opd_op *op = routine->op;
    bool is_fortran_only = op->is_complex_fortran_only && opd_dtype_is_complex(routine->dtype);
    if (place == NULL || (pattern->is_cblas && is_fortran_only) || (pattern->is_direct && !op->has_sub_form)) {
        return false;
    }
    const char *sub = pattern->is_cblas && op->has_sub_form && !pattern->is_direct ? "_sub" : "";
    int count = snprintf(text, size, "%.*s%s%s%s", (int)(place - pattern->format), pattern->format, routine->name, sub,
                         place + 2);
    return count > 0 && (size_t)count < size;
}

static void fill_arg(opd_arg *arg, const opd_plan *plan, const opd_plan_arg *from, opd_dtype dtype)
{
    memset(arg, 0, sizeof *arg);
    if (from->slot < 0) {
        const opd_plan_operand *operand = &plan->operands[from->operand];
        memcpy(arg->name, operand->name.at, (size_t)operand->name.size);
        arg->kind = OPD_ARG_OPERAND;
        arg->dtype = opd_plan_dtype(operand->type, operand->dtype, dtype);
        arg->is_output = (operand->role & OPD_ROLE_OUT) != 0;
        for (int i = 0; i < plan->operand_count; i++) {
            arg->is_output |= plan->operands[i].at == from->operand && (plan->operands[i].role & OPD_ROLE_OUT) != 0;
        }
        return;
    }
    const opd_plan_value *value = &plan->values[from->slot];
    memcpy(arg->name, value->name.at, (size_t)value->name.size);
    arg->kind = OPD_ARG_INT;
    if (value->use == OPD_USE_CHOICE) {
        arg->kind = OPD_ARG_CHOICE;
        memcpy(arg->letters, opd_plan_letters(value, dtype), sizeof arg->letters);
    } else if (value->use == OPD_USE_SCALAR) {
        arg->kind = OPD_ARG_SCALAR;
        arg->dtype = opd_plan_dtype(value->type, OPD_DTYPE_NONE, dtype);
    }
}

int opd_routine_args(const opd_routine *routine, opd_arg *args, int capacity)
{
    const opd_plan *plan = opd_plan_of(routine->op);
    if (plan == NULL) {
        return 0;
    }
    for (int i = 0; i < plan->arg_count && i < capacity; i++) {
        fill_arg(&args[i], plan, &plan->args[i], routine->dtype);
    }
    return plan->arg_count;
}

opd_dtype opd_routine_returns(const opd_routine *routine)
{
    const opd_plan *plan = opd_plan_of(routine->op);
    for (int i = 0; plan != NULL && i < plan->operand_count; i++) {
        const opd_plan_operand *operand = &plan->operands[i];
        if ((operand->flags & OPD_OPERAND_RETURNED) != 0) {
            return opd_plan_dtype(operand->type, operand->dtype, routine->dtype);
        }
    }
    return OPD_DTYPE_NONE;
}

/* group: a letter that only this kind of choice has. */
static const struct cblas_value {
    char letter;
    char group;
    int16_t value;
} cblas_values[] = {
    { 'R', 'O', 101 }, { 'C', 'O', 102 }, { 'N', 'T', 111 }, { 'T', 'T', 112 }, { 'C', 'T', 113 }, { 'R', 'T', 114 },
    { 'U', 'u', 121 }, { 'L', 'u', 122 }, { 'N', 'd', 131 }, { 'U', 'd', 132 }, { 'L', 's', 141 }, { 'R', 's', 142 },
};

static char choice_group(const char *letters)
{
    bool has_lower = strchr(letters, 'L') != NULL;
    if (strchr(letters, 'N') != NULL) {
        return strchr(letters, 'U') != NULL ? 'd' : 'T';
    }
    if (has_lower) {
        return strchr(letters, 'U') != NULL ? 'u' : 's';
    }
    return 'O';
}

static bool is_number(int64_t choice)
{
    return choice >= OPD_CHOICE_NUMBER + INT32_MIN && choice <= OPD_CHOICE_NUMBER + INT32_MAX;
}

int opd_choice_to_cblas(const char *letters, int64_t choice)
{
    char group = choice_group(letters);
    for (size_t i = 0; i < OPD_COUNT(cblas_values); i++) {
        if (cblas_values[i].group == group && cblas_values[i].letter == choice) {
            return cblas_values[i].value;
        }
    }
    return (int)(is_number(choice) ? choice - OPD_CHOICE_NUMBER : choice);
}

int64_t opd_choice_from_cblas(const char *letters, int value)
{
    char group = choice_group(letters);
    for (size_t i = 0; i < OPD_COUNT(cblas_values); i++) {
        if (cblas_values[i].group == group && cblas_values[i].value == value) {
            return cblas_values[i].letter;
        }
    }
    return OPD_CHOICE_NUMBER + value;
}

bool opd_choice_is_letter(int64_t choice)
{
    return choice > ' ' && choice < 127;
}

void opd_choice_print(char text[OPD_CHOICE_TEXT], int64_t choice)
{
    if (opd_choice_is_letter(choice)) {
        snprintf(text, OPD_CHOICE_TEXT, "%c", (int)choice);
    } else {
        snprintf(text, OPD_CHOICE_TEXT, "%lld", (long long)(is_number(choice) ? choice - OPD_CHOICE_NUMBER : choice));
    }
}
