/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs variants of operators on data from standard input, for tests that hold the independent values (operator_probe.py). A request is
 * seven lines: domain, operator, shapes, attributes ("-" = defaults), wanted outputs ("-" = none), variant ("*" = all that are meant to be
 * right), threads; then the bytes of the inputs that are there. The answer: for each variant "variant NAME" and "declined REASON", "failed TEXT"
 * or, for each output, "output NAME DTYPE DIMS" and its bytes; then "end". A call that cannot be made: "error TEXT".
 * Outputs are filled with ones bits before each run, inputs are compared after it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

enum { LINE = 1024 };

typedef struct request_lines {
    char domain[LINE], name[LINE], shapes[LINE], attributes[LINE], outputs[LINE], variant[LINE], threads[LINE];
} request_lines;

static bool read_line(char line[LINE])
{
    if (fgets(line, LINE, stdin) == NULL) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool read_request(request_lines *out)
{
    return read_line(out->domain) && read_line(out->name) && read_line(out->shapes) && read_line(out->attributes) &&
           read_line(out->outputs) && read_line(out->variant) && read_line(out->threads);
}

static const char *given(const char *text)
{
    return strcmp(text, "-") == 0 ? NULL : text;
}

static size_t bytes_of(const opd_tensor *view)
{
    return (size_t)opd_tensor_count(view) * opd_dtype_size(view->dtype);
}

static bool is_there(const opd_call *call, int i)
{
    return (call->operands[i].flags & OPD_OPERAND_ABSENT) == 0;
}

/* Memory of exactly the operand's size, so that a sanitizer sees the element beside it. */
static void allocate(opd_call *call, void *copies[OPD_MAX_OPERANDS])
{
    for (int i = 0; i < call->operand_count; i++) {
        size_t size = is_there(call, i) ? bytes_of(&call->operands[i].view) : 0;
        bool is_input = (call->operands[i].role & OPD_ROLE_IN) != 0;
        call->operands[i].view.data = is_there(call, i) ? malloc(size > 0 ? size : 1) : NULL;
        if (is_there(call, i) && is_input && size > 0) {
            if (fread(call->operands[i].view.data, 1, size, stdin) != size) {
                exit(3);
            }
            copies[i] = malloc(size);
            memcpy(copies[i], call->operands[i].view.data, size);
        }
    }
}

static void release(opd_call *call, void *copies[OPD_MAX_OPERANDS])
{
    for (int i = 0; i < call->operand_count; i++) {
        free(call->operands[i].view.data);
        free(copies[i]);
    }
}

static void print_outputs(const opd_call *call, void *copies[OPD_MAX_OPERANDS])
{
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (copies[i] != NULL && memcmp(copies[i], operand->view.data, bytes_of(&operand->view)) != 0) {
            printf("failed input %s was changed\n", operand->name);
        }
        if (!is_there(call, i) || (operand->role & OPD_ROLE_OUT) == 0) {
            continue;
        }
        printf("output %s %s ", operand->name, opd_dtype_name(operand->view.dtype));
        for (int32_t d = 0; d < operand->view.rank; d++) {
            printf("%s%lld", d > 0 ? "," : "", (long long)operand->view.shape[d]);
        }
        printf("\n");
        fwrite(operand->view.data, 1, bytes_of(&operand->view), stdout);
    }
}

static opd_status run(const opd_variant *variant, const opd_call *call, int threads)
{
    opd_workspace workspace = { .threads = threads };
    workspace.size = variant->workspace != NULL ? variant->workspace(call, threads) : 0;
    size_t rounded = (workspace.size + 63) / 64 * 64;
    workspace.bytes = rounded > 0 ? aligned_alloc(64, rounded) : NULL;
    if (workspace.bytes != NULL) {
        memset(workspace.bytes, 0xff, rounded);
    }
    opd_status status = opd_variant_run(variant, call, &workspace);
    free(workspace.bytes);
    return status;
}

static void try_variant(const opd_variant *variant, const opd_kernel *kernel, const opd_call *call,
                        void *copies[OPD_MAX_OPERANDS], int threads)
{
    printf("variant %s\n", variant->name);
    const opd_variant *chosen = NULL;
    if (opd_kernel_choose(&chosen, kernel, call, variant->name) != OPD_OK) {
        printf("declined %s\n", opd_error_text());
        return;
    }
    for (int i = 0; i < call->operand_count; i++) {
        if (is_there(call, i) && call->operands[i].role == OPD_ROLE_OUT) {
            memset(call->operands[i].view.data, 0xff, bytes_of(&call->operands[i].view));
        }
    }
    if (run(variant, call, threads) != OPD_OK) {
        printf("failed %s\n", opd_error_text());
        return;
    }
    print_outputs(call, copies);
}

static void answer(const request_lines *request)
{
    const opd_op *op = opd_op_find(request->domain, request->name);
    const opd_kernel *kernel = opd_kernel_find(request->domain, request->name);
    opd_call_wish wish = { .shapes = given(request->shapes),
                           .attributes = given(request->attributes),
                           .outputs = given(request->outputs) };
    static opd_call call;
    void *copies[OPD_MAX_OPERANDS] = { NULL };
    if (op == NULL || kernel == NULL) {
        printf("error there is no %s in %s\n", request->name, request->domain);
        return;
    }
    if (opd_call_make(&call, op, &wish) != OPD_OK) {
        printf("error %s\n", opd_error_text());
        return;
    }
    allocate(&call, copies);
    const opd_variant *variant = NULL;
    for (int i = 0; (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        bool is_wanted = strcmp(request->variant, "*") == 0 ? opd_variant_is_choice(variant)
                                                            : strcmp(request->variant, variant->name) == 0;
        if (is_wanted) {
            try_variant(variant, kernel, &call, copies, (int)strtol(request->threads, NULL, 10));
        }
    }
    printf("end\n");
    release(&call, copies);
}

int main(void)
{
    request_lines request;
    while (read_request(&request)) {
        answer(&request);
        fflush(stdout);
    }
    return 0;
}
