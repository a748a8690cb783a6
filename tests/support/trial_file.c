/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the variants of an operator on calls with data, for scripts that judge the results. */
#include "trial_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numpy_process.h"

static bool is_there(const opd_operand *operand)
{
    return (operand->flags & OPD_OPERAND_ABSENT) == 0;
}

static size_t bytes_of(const opd_tensor *view)
{
    return (size_t)opd_tensor_count(view) * opd_dtype_size(view->dtype);
}

void trial_place(trial_file *trial, opd_call *call, opd_role role, bool is_strided)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        if (operand->role != role || !is_there(operand)) {
            continue;
        }
        size_t size = 2 * bytes_of(&operand->view) + 64;
        free(trial->memory[i]);
        trial->memory[i] = malloc(size);
        assert_non_null(trial->memory[i]);
        memset(trial->memory[i], 0xa5, size);
        operand->view.data = trial->memory[i];
        int64_t step = 2;
        for (int d = 0; d < operand->view.rank && is_strided; d++) {
            operand->view.stride[d] = step;
            step *= operand->view.shape[d];
        }
    }
}

static void write_elements(FILE *file, const opd_tensor *view)
{
    int64_t count = opd_tensor_count(view);
    for (int64_t flat = 0; flat < count; flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, flat, index);
        (void)fwrite((const uint8_t *)view->data + opd_tensor_offset(view, index), opd_dtype_size(view->dtype), 1,
                     file);
    }
}

static void write_attributes(FILE *file, const opd_call *call)
{
    const char *separator = "";
    for (int i = 0; i < call->attr_count; i++) {
        const opd_value *value = &call->attrs[i];
        char text[OPD_INTS_TEXT];
        if (value->kind == OPD_VALUE_NONE) {
            continue;
        }
        fprintf(file, "%s\"%s\":", separator, value->name);
        separator = ",";
        if (value->kind == OPD_VALUE_INT) {
            fprintf(file, "%lld", (long long)value->i);
        } else if (value->kind == OPD_VALUE_REAL) {
            fprintf(file, "%.17g", value->re);
        } else if (value->kind == OPD_VALUE_TEXT) {
            fprintf(file, "\"%s\"", value->text);
        } else {
            opd_value_print_ints(text, sizeof text, value);
            fprintf(file, "%s", text);
        }
    }
}

static void write_operands(FILE *file, const opd_call *call, opd_role role)
{
    const char *separator = "";
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (operand->role != role) {
            continue;
        }
        fprintf(file, "%s", separator);
        separator = ",";
        if (!is_there(operand)) {
            fprintf(file, "null");
            continue;
        }
        fprintf(file, "[\"%s\",\"%s\",[", operand->name, opd_dtype_name(operand->view.dtype));
        for (int d = 0; d < operand->view.rank; d++) {
            fprintf(file, "%s%lld", d > 0 ? "," : "", (long long)operand->view.shape[d]);
        }
        fprintf(file, "]]");
    }
}

static void write_data(FILE *file, const opd_call *call, opd_role role)
{
    for (int i = 0; i < call->operand_count; i++) {
        if (call->operands[i].role == role && is_there(&call->operands[i])) {
            write_elements(file, &call->operands[i].view);
        }
    }
}

void trial_run_variants(trial_file *trial, const opd_call *call)
{
    const opd_kernel *kernel = opd_kernel_find(call->domain, call->name);
    const opd_variant *variant = NULL;
    const opd_variant *able[16];
    int count = 0;
    assert_non_null(kernel);
    for (int i = 0; (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        if (opd_variant_is_choice(variant) && count < 16 &&
            opd_kernel_choose(&able[count], kernel, call, variant->name) == OPD_OK) {
            count++;
        }
    }
    fprintf(trial->file, "{\"op\":\"%s\",\"attributes\":{", call->name);
    write_attributes(trial->file, call);
    fprintf(trial->file, "},\"inputs\":[");
    write_operands(trial->file, call, OPD_ROLE_IN);
    fprintf(trial->file, "],\"outputs\":[");
    write_operands(trial->file, call, OPD_ROLE_OUT);
    fprintf(trial->file, "],\"variants\":[");
    for (int i = 0; i < count; i++) {
        fprintf(trial->file, "%s\"%s\"", i > 0 ? "," : "", able[i]->name);
    }
    fprintf(trial->file, "]}\n");
    write_data(trial->file, call, OPD_ROLE_IN);
    for (int v = 0; v < count; v++) {
        for (int i = 0; i < call->operand_count; i++) {
            const opd_operand *operand = &call->operands[i];
            if (operand->role == OPD_ROLE_OUT && is_there(operand)) {
                memset(trial->memory[i], 0xa5, 2 * bytes_of(&operand->view) + 64);
            }
        }
        if (opd_variant_run(able[v], call, NULL) != OPD_OK) {
            fail_msg("%s %s: %s", call->name, able[v]->name, opd_error_text());
        }
        write_data(trial->file, call, OPD_ROLE_OUT);
    }
    trial->calls++;
    trial->runs += count;
}

bool trial_run(trial_file *trial, const opd_op *op, const opd_call_wish *wish, uint64_t seed, bool is_strided)
{
    opd_call call;
    if (opd_call_make(&call, op, wish) != OPD_OK) {
        return false;
    }
    trial_place(trial, &call, OPD_ROLE_IN, is_strided);
    if (opd_call_generate(&call, seed, NULL) != OPD_OK) {
        return false;
    }
    trial_place(trial, &call, OPD_ROLE_OUT, is_strided);
    trial_run_variants(trial, &call);
    return true;
}

void trial_release(trial_file *trial)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        free(trial->memory[i]);
        trial->memory[i] = NULL;
    }
}

void trial_judge(trial_file *trial, const char *path)
{
    assert_int_equal(fclose(trial->file), 0);
    FILE *answers = numpy_run(path, NULL);
    assert_non_null(answers);
    char line[4096] = "";
    int runs = -1;
    int wrong = -1;
    while (fgets(line, sizeof line, answers) != NULL) {
        if (sscanf(line, "checked %d wrong %d", &runs, &wrong) != 2) {
            print_error("%s", line);
        }
    }
    assert_int_equal(pclose(answers), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(runs, trial->runs);
    assert_int_equal(wrong, 0);
    trial_release(trial);
}
