/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time program: prints a C file with one wrapper for each BLAS routine under each name pattern, from the contracts.
 * Calling conventions: Fortran as gfortran has it (arguments by address, lengths of characters as trailing size_t,
 * complex results in registers); CBLAS real scalars by value, complex ones by address, complex dot as NAME_sub and as NAME.
 * source    GNU Fortran manual, "Argument passing conventions"; netlib cblas.h.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

#define ARGS_MAX 32

typedef struct form {
    const opd_routine *routine;
    const opd_name_pattern *pattern;
    int pattern_index;
    char symbol[64];
    opd_arg args[ARGS_MAX];
    int arg_count;
    bool has_order; /* takes the storage order first */
    int lengths;    /* hidden lengths of characters */
    opd_dtype returns;
    bool is_sub; /* the result goes where the last argument says */
} form;

static const char *real_type(opd_dtype dtype)
{
    return opd_dtype_real(dtype) == OPD_F32 ? "float" : "double";
}

static const char *integer_type(const form *wrapper)
{
    return wrapper->pattern->int_bytes == 8 ? "int64_t" : "int32_t";
}

static const char *result_type(const form *wrapper)
{
    if (wrapper->returns == OPD_DTYPE_NONE || wrapper->is_sub) {
        return "void";
    }
    if (!opd_dtype_is_float(wrapper->returns)) { /* an index: CBLAS_INDEX is size_t */
        return wrapper->pattern->is_cblas ? "size_t" : integer_type(wrapper);
    }
    if (opd_dtype_is_complex(wrapper->returns)) {
        return wrapper->returns == OPD_C64 ? "float _Complex" : "double _Complex";
    }
    return real_type(wrapper->returns);
}

static void print_parameter(FILE *out, const form *wrapper, const opd_arg *arg)
{
    bool is_cblas = wrapper->pattern->is_cblas;
    switch (arg->kind) {
    case OPD_ARG_CHOICE:
        fprintf(out, is_cblas ? "int %s" : "const char *%s", arg->name);
        break;
    case OPD_ARG_INT:
        fprintf(out, is_cblas ? "%s %s" : "const %s *%s", integer_type(wrapper), arg->name);
        break;
    case OPD_ARG_SCALAR:
        if (is_cblas && !opd_dtype_is_complex(arg->dtype)) {
            fprintf(out, "%s %s", real_type(arg->dtype), arg->name);
        } else {
            fprintf(out, "const %s *%s", real_type(arg->dtype), arg->name);
        }
        break;
    case OPD_ARG_OPERAND:
        fprintf(out, "void *%s", arg->name);
        break;
    }
}

static void print_parameters(FILE *out, const form *wrapper)
{
    const char *separator = "";
    if (wrapper->has_order) {
        fprintf(out, wrapper->pattern->is_cblas ? "int order_" : "const char *order_");
        separator = ", ";
    }
    for (int i = 0; i < wrapper->arg_count; i++) {
        fputs(separator, out);
        print_parameter(out, wrapper, &wrapper->args[i]);
        separator = ", ";
    }
    if (wrapper->is_sub) {
        fprintf(out, "%svoid *result_", separator);
    }
    for (int i = 0; i < wrapper->lengths; i++) {
        fprintf(out, "%ssize_t length%d_", separator, i);
    }
}

static void print_arguments(FILE *out, const form *wrapper)
{
    const char *separator = "";
    if (wrapper->has_order) {
        fputs("order_", out);
        separator = ", ";
    }
    for (int i = 0; i < wrapper->arg_count; i++) {
        fprintf(out, "%s%s", separator, wrapper->args[i].name);
        separator = ", ";
    }
    if (wrapper->is_sub) {
        fprintf(out, "%sresult_", separator);
    }
    for (int i = 0; i < wrapper->lengths; i++) {
        fprintf(out, "%slength%d_", separator, i);
    }
}

/* All values of an enumeration follow each other: the first, how many, their letters. */
static void print_enum(FILE *out, const char *name, const char *legal)
{
    char letters[16] = "";
    int first = 0;
    int count = 0;
    for (int value = 100; value < 164 && count < (int)sizeof(letters) - 1; value++) {
        int64_t choice = opd_choice_from_cblas(legal, value);
        if (opd_choice_is_letter(choice)) {
            first = count == 0 ? value : first;
            letters[count++] = (char)choice;
        }
    }
    fprintf(out, "opd_word_enum(%s, %d, %d, \"%s\")", name, first, count, letters);
}

static void print_word(FILE *out, const form *wrapper, const opd_arg *arg)
{
    bool is_cblas = wrapper->pattern->is_cblas;
    const char *bits = opd_dtype_real(arg->dtype) == OPD_F32 ? "f32" : "f64";
    switch (arg->kind) {
    case OPD_ARG_CHOICE:
        if (is_cblas) {
            print_enum(out, arg->name, arg->letters);
        } else {
            fprintf(out, "opd_word_char(%s)", arg->name);
        }
        break;
    case OPD_ARG_INT:
        if (is_cblas) {
            fprintf(out, "(uint64_t)(int64_t)%s", arg->name);
        } else {
            fprintf(out, "opd_word_i%d(%s)", wrapper->pattern->int_bytes * 8, arg->name);
        }
        break;
    case OPD_ARG_SCALAR:
        if (opd_dtype_is_complex(arg->dtype)) {
            fprintf(out, "opd_word_%s_at(%s, 0), opd_word_%s_at(%s, 1)", bits, arg->name, bits, arg->name);
        } else if (is_cblas) {
            fprintf(out, "opd_word_f64((double)%s)", arg->name);
        } else {
            fprintf(out, "opd_word_%s_at(%s, 0)", bits, arg->name);
        }
        break;
    case OPD_ARG_OPERAND:
        fprintf(out, "opd_word_pointer(%s)", arg->name);
        break;
    }
}

static void print_words(FILE *out, const form *wrapper)
{
    fputs("    const uint64_t words_[] = {", out);
    const char *separator = " ";
    if (wrapper->routine->op->has_layout) {
        if (wrapper->has_order && wrapper->pattern->is_cblas) {
            print_enum(out, "order_", "RC");
        } else {
            fputs(wrapper->has_order ? "opd_word_char(order_)" : "'C'", out);
        }
        separator = ", ";
    }
    for (int i = 0; i < wrapper->arg_count; i++) {
        fputs(separator, out);
        print_word(out, wrapper, &wrapper->args[i]);
        separator = ", ";
    }
    fputs(" };\n", out);
}

static void print_call(FILE *out, const form *wrapper)
{
    fputs("true_(", out);
    print_arguments(out, wrapper);
    fputs(");\n", out);
}

/* The call, then what it returned as the operand `result` sees it: an index as int64. */
static void print_dispatch(FILE *out, const form *wrapper)
{
    if (strcmp(result_type(wrapper), "void") == 0) {
        fputs("    ", out);
        print_call(out, wrapper);
        if (wrapper->is_sub) {
            fprintf(out, "    opd_interpose_end(&frame_, result_, %zu);\n}\n\n", opd_dtype_size(wrapper->returns));
        } else {
            fputs("    opd_interpose_end(&frame_, NULL, 0);\n}\n\n", out);
        }
        return;
    }
    fprintf(out, "    %s value_ = ", result_type(wrapper));
    print_call(out, wrapper);
    if (opd_dtype_is_float(wrapper->returns)) {
        fputs("    opd_interpose_end(&frame_, &value_, sizeof(value_));\n", out);
    } else {
        fputs("    int64_t index_ = (int64_t)value_;\n    opd_interpose_end(&frame_, &index_, sizeof(index_));\n", out);
    }
    fputs("    return value_;\n}\n\n", out);
}

/* Bits of the words that are the storage order, sizes or choices: not of scalars and addresses. */
static uint32_t kind_words(const form *wrapper)
{
    uint32_t bits = 0;
    int word = 0;
    if (wrapper->routine->op->has_layout) {
        bits = 1;
        word = 1;
    }
    for (int i = 0; i < wrapper->arg_count && word < 32; i++) {
        const opd_arg *arg = &wrapper->args[i];
        bits |= arg->kind == OPD_ARG_INT || arg->kind == OPD_ARG_CHOICE ? UINT32_C(1) << word : 0;
        word += arg->kind == OPD_ARG_SCALAR && opd_dtype_is_complex(arg->dtype) ? 2 : 1;
    }
    return bits;
}

static void print_wrapper(FILE *out, const form *wrapper, int words, int operands)
{
    bool is_void = strcmp(result_type(wrapper), "void") == 0;
    fprintf(out, "typedef %s %s_function(", result_type(wrapper), wrapper->symbol);
    print_parameters(out, wrapper);
    fprintf(out, ");\nOPD_PUBLIC OPD_WRAPPER %s %s(", result_type(wrapper), wrapper->symbol);
    print_parameters(out, wrapper);
    fprintf(
        out,
        ")\n{\n    static opd_site site_ = { .symbol = \"%s\", .wrapper = (const void *)%s, .routine = %d, .pattern = %d, .words = %d, "
        ".operands = %d, .kind_words = %uu, .flags = %uu };\n",
        wrapper->symbol, wrapper->symbol, wrapper->routine->id, wrapper->pattern_index, words, operands,
        kind_words(wrapper),
        (wrapper->pattern->is_cblas ? OPD_CALL_CBLAS : 0u) | (wrapper->pattern->int_bytes == 8 ? OPD_CALL_ILP64 : 0u) |
            (wrapper->pattern->is_direct ? OPD_CALL_DIRECT : 0u));
    fprintf(out,
            "    const void *from_ = __builtin_return_address(0);\n"
            "    const opd_target *target_ = opd_target_of(&site_, from_);\n"
            "    %s_function *true_ = (%s_function *)target_->function;\n"
            "    if (!opd_is_recorded(target_)) {\n        %s",
            wrapper->symbol, wrapper->symbol, is_void ? "" : "return ");
    print_call(out, wrapper);
    fputs(is_void ? "        return;\n    }\n" : "    }\n", out);
    print_words(out, wrapper);
    fputs("    opd_wrapped frame_;\n    opd_interpose_begin(&frame_, &site_, target_, words_, from_);\n", out);
    print_dispatch(out, wrapper);
}

static int describe(form *wrapper, const opd_routine *routine, int pattern)
{
    *wrapper = (form){ .routine = routine, .pattern = opd_name_pattern_at(pattern), .pattern_index = pattern };
    if (!opd_routine_symbol(wrapper->symbol, sizeof(wrapper->symbol), routine, wrapper->pattern)) {
        return 0;
    }
    bool is_cblas = wrapper->pattern->is_cblas;
    wrapper->has_order = is_cblas ? routine->op->has_layout : routine->op->has_order_argument;
    wrapper->arg_count = opd_routine_args(routine, wrapper->args, ARGS_MAX);
    wrapper->returns = opd_routine_returns(routine);
    wrapper->is_sub = is_cblas && routine->op->has_sub_form && !wrapper->pattern->is_direct;
    wrapper->lengths = !is_cblas && wrapper->has_order ? 1 : 0;
    for (int i = 0; i < wrapper->arg_count && !is_cblas; i++) {
        wrapper->lengths += wrapper->args[i].kind == OPD_ARG_CHOICE;
    }
    return wrapper->arg_count;
}

int main(int count, char **arguments)
{
    /* gen_interpose FILE PART PARTS: every PARTS-th routine from PART on, so that parts compile side by side. */
    FILE *out = count == 4 ? fopen(arguments[1], "w") : NULL;
    int part = count == 4 ? (int)strtol(arguments[2], NULL, 10) : 0;
    int parts = count == 4 ? (int)strtol(arguments[3], NULL, 10) : 1;
    if (out == NULL || part < 0 || parts < 1 || opd_ops_compile() != OPD_OK) {
        fprintf(stderr, "gen_interpose: cannot write: %s\n", opd_error_text());
        return 1;
    }
    fputs("/* Printed by gen_interpose from the contracts. */\n#include <complex.h>\n#include \"interpose.h\"\n\n",
          out);
    static form wrapper;
    static opd_call call;
    for (int id = part; id < opd_routine_count(); id += parts) {
        const opd_routine *routine = opd_routine_at(id);
        if (opd_call_init(&call, routine->op, routine->name, routine->dtype) != OPD_OK) {
            fprintf(stderr, "gen_interpose: %s: %s\n", routine->name, opd_error_text());
            return 1;
        }
        for (int pattern = 0; pattern < opd_name_pattern_count(); pattern++) {
            if (describe(&wrapper, routine, pattern) > 0) {
                print_wrapper(out, &wrapper, opd_routine_word_count(routine), call.operand_count);
            }
        }
    }
    return ferror(out) != 0 || fclose(out) != 0;
}
