/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time program: gen_every_routine LIBRARY OUT.c prints a C program that calls every routine which the library exports,
 * as CBLAS (by columns and by rows) and as Fortran, with small random legal arguments. Its functions have the prototypes
 * of C and gfortran, hidden lengths of characters given by every other call only, as C programs and compilers differ in that.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

#include "blas_case.h"

enum { FORMS = 3, PER_FORM = 2, ARGS_MAX = 32 };

typedef struct printing {
    FILE *out;
    void *library;
    const opd_routine *routine;
    int counts[FORMS]; /* calls printed: Fortran, by columns, by rows */
    long seen;
    int pass;       /* which of PER_FORM is printed now: one call of everything comes first */
    int number;     /* of the function printed */
    bool is_direct; /* the name printed is that of a complex dot which returns its result */
} printing;

/* Of two names of a complex dot, every pass takes another, so does every routine. */
static const opd_name_pattern *exported(char *symbol, size_t size, const printing *p, bool is_cblas)
{
    const opd_name_pattern *found = NULL;
    for (int i = 0; i < opd_name_pattern_count(); i++) {
        const opd_name_pattern *pattern = opd_name_pattern_at(i);
        char name[64];
        if (pattern->is_cblas == is_cblas && pattern->int_bytes == 4 &&
            opd_routine_symbol(name, sizeof name, p->routine, pattern) && dlsym(p->library, name) != NULL &&
            (found == NULL || ((p->pass + p->routine->id) % 2 == 1 && pattern->is_direct))) {
            found = pattern;
            snprintf(symbol, size, "%s", name);
        }
    }
    return found;
}

static const char *real_name(opd_dtype dtype)
{
    return opd_dtype_real(dtype) == OPD_F32 ? "float" : "double";
}

static const char *result_name(const opd_routine *routine, bool is_cblas, bool is_sub)
{
    opd_dtype dtype = opd_routine_returns(routine);
    if (dtype == OPD_DTYPE_NONE || is_sub) {
        return "void";
    }
    if (!opd_dtype_is_float(dtype)) {
        return is_cblas ? "size_t" : "int";
    }
    if (opd_dtype_is_complex(dtype)) {
        return dtype == OPD_C64 ? "float _Complex" : "double _Complex";
    }
    return real_name(dtype);
}

static void print_type(FILE *out, const opd_arg *arg, bool is_cblas)
{
    switch (arg->kind) {
    case OPD_ARG_CHOICE:
        fputs(is_cblas ? "int" : "const char *", out);
        break;
    case OPD_ARG_INT:
        fputs(is_cblas ? "int" : "const int *", out);
        break;
    case OPD_ARG_SCALAR:
        fprintf(out, is_cblas && !opd_dtype_is_complex(arg->dtype) ? "%s" : "const %s *", real_name(arg->dtype));
        break;
    case OPD_ARG_OPERAND:
        fputs("void *", out);
        break;
    }
}

static double real_of(uint64_t word)
{
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Prints the argument that the words say; returns how many it took. */
static int print_value(const printing *p, const opd_arg *arg, const uint64_t *words, bool is_cblas,
                       const blas_case *item)
{
    switch (arg->kind) {
    case OPD_ARG_CHOICE:
        if (is_cblas) {
            fprintf(p->out, "%d", opd_choice_to_cblas(arg->letters, (int64_t)words[0]));
        } else {
            fprintf(p->out, "\"%c\"", (int)words[0]);
        }
        return 1;
    case OPD_ARG_INT:
        fprintf(p->out, is_cblas ? "%lld" : "&(const int){ %lld }", (long long)words[0]);
        return 1;
    case OPD_ARG_SCALAR:
        if (opd_dtype_is_complex(arg->dtype)) {
            fprintf(p->out, "(const %s[]){ (%s)%a, (%s)%a }", real_name(arg->dtype), real_name(arg->dtype),
                    real_of(words[0]), real_name(arg->dtype), real_of(words[1]));
            return 2;
        }
        fprintf(p->out, is_cblas ? "(%s)%a" : "&(const %s){ %a }", real_name(arg->dtype), real_of(words[0]));
        return 1;
    case OPD_ARG_OPERAND:
        break;
    }
    for (int i = 0; i < item->call.operand_count; i++) {
        const uint8_t *at = (const uint8_t *)(uintptr_t)words[0];
        if (item->buffers[i] != NULL && at >= item->buffers[i] && at < item->buffers[i] + item->sizes[i]) {
            fprintf(p->out, "memory[%d] + %td", i, at - item->buffers[i]);
            return 1;
        }
    }
    fputs("NULL", p->out);
    return 1;
}

static int count_choices(const opd_arg *args, int count)
{
    int choices = 0;
    for (int i = 0; i < count; i++) {
        choices += args[i].kind == OPD_ARG_CHOICE;
    }
    return choices;
}

/* ((result (*)(types))address_of(symbol))(values): a symbol has as many types as calls */
static void print_call(const printing *p, const char *symbol, const blas_case *item, bool is_cblas, int lengths)
{
    opd_arg args[ARGS_MAX];
    uint64_t words[OPD_MAX_WORDS];
    const opd_op *op = p->routine->op;
    int count = opd_routine_args(p->routine, args, ARGS_MAX);
    bool has_order = is_cblas ? op->has_layout : op->has_order_argument;
    bool is_sub = is_cblas && op->has_sub_form && !p->is_direct;
    opd_call_to_words(words, &item->call);
    fprintf(p->out, "((%s (*)(", result_name(p->routine, is_cblas, is_sub));
    fputs(has_order ? is_cblas ? "int, " : "const char *, " : "", p->out);
    for (int i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", p->out);
        print_type(p->out, &args[i], is_cblas);
    }
    fputs(is_sub ? ", void *" : "", p->out);
    for (int i = 0; i < lengths; i++) {
        fputs(", size_t", p->out);
    }
    fprintf(p->out, "))address_of(%s))(", symbol);
    const uint64_t *word = words + op->has_layout;
    if (has_order) {
        bool is_row = (char)words[0] == 'R';
        fputs(is_cblas ? is_row ? "101, " : "102, " : is_row ? "\"R\", " : "\"C\", ", p->out);
    }
    for (int i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", p->out);
        word += print_value(p, &args[i], word, is_cblas, item);
    }
    fputs(is_sub ? ", result" : "", p->out);
    for (int i = 0; i < lengths; i++) {
        fputs(", 1", p->out);
    }
    fputs(")", p->out);
}

static void print_function(printing *p, const char *symbol, const blas_case *item, bool is_cblas)
{
    char what[300];
    opd_arg args[ARGS_MAX];
    opd_call_describe(what, sizeof what, &item->call);
    bool is_sub = is_cblas && p->routine->op->has_sub_form && !p->is_direct;
    const char *result = result_name(p->routine, is_cblas, is_sub);
    int lengths = is_cblas || p->number % 2 == 0 ? 0
                                                 : count_choices(args, opd_routine_args(p->routine, args, ARGS_MAX)) +
                                                       p->routine->op->has_order_argument;
    fprintf(p->out, "extern void %s(void);\nstatic void call%d(void)\n{\n", symbol, p->number);
    for (int i = 0; i < item->call.operand_count; i++) {
        if (item->buffers[i] != NULL) {
            bool is_single = opd_dtype_real(item->call.operands[i].view.dtype) == OPD_F32;
            fprintf(p->out, "    fill(%d, %zu, %d, %d);\n", i, item->sizes[i], is_single, p->number);
        }
    }
    fputs("    ", p->out);
    if (strcmp(result, "void") != 0) {
        fprintf(p->out, "%s value = ", result);
    }
    print_call(p, symbol, item, is_cblas, lengths);
    fputs(";\n", p->out);
    if (strcmp(result, "void") != 0) {
        fputs("    memcpy(result, &value, sizeof(value));\n", p->out);
    }
    fprintf(p->out, "    report(\"%s\", \"%s\");\n}\n\n", symbol, what);
    p->number++;
}

/*
 * OpenBLAS 0.3.21: imatcopy's own heap buffer has room for max(lda, ldb) columns (rows, row-major) of the result only; the complex
 * symmetric rank-2 updates read before a vector with a negative increment.
 */
static bool is_left_out(opd_call *call)
{
    bool is_update = strcmp(call->op->name, "syr2") == 0 || strcmp(call->op->name, "spr2") == 0;
    if (is_update && opd_dtype_is_complex(call->dtype)) {
        return opd_call_value(call, "incx")->i < 0 || opd_call_value(call, "incy")->i < 0;
    }
    if (strcmp(call->op->name, "imatcopy") != 0) {
        return false;
    }
    int64_t lda = opd_call_value(call, "lda")->i;
    int64_t ldb = opd_call_value(call, "ldb")->i;
    int64_t lines = call->operands[1].view.shape[call->flags & OPD_CALL_ROW_MAJOR ? 0 : 1];
    return lines > (lda > ldb ? lda : ldb);
}

static void visit(void *context, opd_call *call, dice *d)
{
    printing *p = context;
    bool is_cblas = (call->flags & OPD_CALL_CBLAS) != 0;
    int form = !is_cblas ? 0 : (call->flags & OPD_CALL_ROW_MAJOR) != 0 ? 2 : 1;
    char symbol[64];
    /* not the first combinations only, which have everything at its default */
    if (is_left_out(call) || p->counts[form] > p->pass || p->seen++ % 5 < p->pass + 2) {
        return;
    }
    const opd_name_pattern *pattern = exported(symbol, sizeof symbol, p, is_cblas);
    if (pattern == NULL) {
        return;
    }
    p->is_direct = pattern->is_direct;
    blas_case item = { .call = *call };
    blas_case_fill(&item, d, false);
    if (p->counts[form]++ == p->pass) {
        print_function(p, symbol, &item, is_cblas);
    }
    blas_case_done(&item);
}

static const char prologue[] =
    "/* Printed by gen_every_routine from the contracts. */\n"
    "#include <complex.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "#include <string.h>\n\n"
    "static _Alignas(64) unsigned char memory[8][1 << 16];\n"
    "static size_t sizes[8];\n"
    "static unsigned char result[16];\n\n"
    "/* Everything there is, gaps too: numbers of 1/4 to 1 in size. */\n"
    "static void *address_of(void (*function)(void))\n{\n    return (void *)function;\n}\n\n"
    "static void fill(int index, size_t bytes, int is_single, unsigned seed)\n{\n"
    "    uint64_t state = seed * 1000003u + (unsigned)index;\n"
    "    sizes[index] = bytes < sizeof(memory[0]) ? bytes : sizeof(memory[0]);\n"
    "    for (size_t at = 0; at + 8 <= sizeof(memory[0]) && at < bytes; at += is_single ? 4 : 8) {\n"
    "        state = state * 6364136223846793005u + 1442695040888963407u;\n"
    "        double value = 0.25 + (double)(state >> 40) / (1 << 24) * 0.75;\n"
    "        double number = (state >> 39 & 1) != 0 ? -value : value;\n"
    "        float narrow = (float)number;\n"
    "        memcpy(memory[index] + at, is_single ? (void *)&narrow : (void *)&number, is_single ? 4 : 8);\n"
    "    }\n}\n\n"
    "/* One line: symbol, what was called, digest of all memory and of the returned value. */\n"
    "static void report(const char *symbol, const char *what)\n{\n"
    "    uint64_t hash = 1469598103934665603u;\n"
    "    for (int i = 0; i < 8; i++) {\n"
    "        for (size_t at = 0; at < sizes[i]; at++) {\n"
    "            hash = (hash ^ memory[i][at]) * 1099511628211u;\n"
    "        }\n"
    "        sizes[i] = 0;\n    }\n"
    "    printf(\"%s|%s|%016llx|\", symbol, what, (unsigned long long)hash);\n"
    "    for (size_t i = 0; i < sizeof(result); i++) {\n"
    "        printf(\"%02x\", result[i]);\n    }\n"
    "    putchar('\\n');\n    memset(result, 0, sizeof(result));\n}\n\n";

int main(int count, char **arguments)
{
    printing p = { .out = count == 3 ? fopen(arguments[2], "w") : NULL };
    p.library = count == 3 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (p.out == NULL || p.library == NULL || opd_ops_compile() != OPD_OK) {
        fprintf(stderr, "gen_every_routine: LIBRARY OUT.c\n");
        return 1;
    }
    fputs(prologue, p.out);
    for (p.pass = 0; p.pass < PER_FORM; p.pass++) {
        for (int id = 0; id < opd_routine_count(); id++) {
            dice d = { .seed = 5000 + (uint64_t)id };
            p.routine = opd_routine_at(id);
            p.seen = 0;
            memset(p.counts, 0, sizeof p.counts);
            blas_combinations(p.routine, "", &d, visit, &p);
        }
        fprintf(p.out, "enum { END%d = %d };\n", p.pass, p.number);
    }
    fputs("static void (*const all[])(void) = {\n", p.out);
    for (int i = 0; i < p.number; i++) {
        fprintf(p.out, "    call%d,\n", i);
    }
    fputs("};\n\n/* every_routine [FROM TO] */\nint main(int count, char **arguments)\n{\n"
          "    size_t from = count > 2 ? strtoul(arguments[1], NULL, 10) : 0;\n"
          "    size_t to = count > 2 ? strtoul(arguments[2], NULL, 10) : sizeof(all) / sizeof(all[0]);\n"
          "    for (size_t i = from; i < to && i < sizeof(all) / sizeof(all[0]); i++) {\n        all[i]();\n    }\n"
          "    return 0;\n}\n",
          p.out);
    return ferror(p.out) != 0 || fclose(p.out) != 0;
}
