// SPDX-License-Identifier: Apache-2.0
// The stand-alone program: head, data, tables, the call, the check, and what the kind of failure needs around them (guard page
// and fault report, child process, argument handler, own environment). Only what is needed is written.
#include <stdio.h>
#include <string.h>

#include "emit.h"

typedef struct needs {
    bool guard;   /* an array against an inaccessible page */
    bool child;   /* the call runs in a child: it may crash or hang */
    bool refused; /* the routine should refuse its arguments */
    bool sparse;  /* a mapped array */
    bool environment;
    bool values, finite; /* checks */
} needs;

static needs needs_of(const opd_emitter *emit)
{
    opd_outcome outcome = emit->failure->outcome;
    needs need = { 0 };
    for (int i = 0; i < emit->array_count; i++) {
        need.guard = need.guard || emit->arrays[i].is_guarded;
        need.sparse = need.sparse || emit->arrays[i].is_sparse;
    }
    need.refused = outcome == OPD_OUTCOME_BAD_ARGS || emit->item->call.bad_arg != 0;
    need.child = outcome == OPD_OUTCOME_CRASH || outcome == OPD_OUTCOME_HANG || outcome == OPD_OUTCOME_UNSUPPORTED;
    need.environment = emit->options->core != NULL || emit->options->threads > 0;
    need.values = opd_emit_has_table(emit, true);
    need.finite = opd_emit_has_table(emit, false);
    return need;
}

/* Text inside a comment: no end of comment, one line. */
static void print_comment(opd_buffer *out, const char *text)
{
    for (; *text != '\0'; text++) {
        bool is_end = text[0] == '*' && text[1] == '/';
        opd_buffer_print(out, "%c", is_end || (unsigned char)*text < ' ' ? ' ' : *text);
    }
}

static void print_head(opd_emitter *emit, const needs *need)
{
    char call[512];
    const opd_failure *failure = emit->failure;
    const char *link = emit->options->link != NULL ? emit->options->link : "-lopenblas";
    opd_call_describe(call, sizeof(call), &emit->item->call);
    opd_buffer_print(emit->out, "/*\n * ");
    print_comment(emit->out, call);
    opd_buffer_print(emit->out, ": %s%s", opd_outcome_name(failure->outcome),
                     failure->operand[0] != '\0' ? " in " : "");
    print_comment(emit->out, failure->operand);
    opd_buffer_print(emit->out, "%s", failure->label[0] != '\0' ? ", " : "");
    print_comment(emit->out, failure->label);
    opd_buffer_print(emit->out, "\n");
    if (failure->reason[0] != '\0') {
        opd_buffer_print(emit->out, " * ");
        print_comment(emit->out, failure->reason);
        opd_buffer_print(emit->out, "\n");
    }
    opd_buffer_print(emit->out, " *\n *     cc -std=c17 -Wall -Wextra FILE.c ");
    print_comment(emit->out, link);
    opd_buffer_print(emit->out, " -lm && ./a.out\n *\n"
                                " * Exit status: 1 = it fails, 0 = it does not, 2 = it could not run.\n */\n");
    opd_buffer_print(emit->out, "#define _GNU_SOURCE\n#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n"
                                "#include <stdio.h>\n#include <stdlib.h>\n");
    if (opd_emit_sets_mode(&emit->item->call)) {
        opd_buffer_print(emit->out, "#include <xmmintrin.h>\n");
    }
    if (need->guard || need->child) {
        opd_buffer_print(emit->out, "#include <signal.h>\n");
    }
    if (need->guard || need->child || need->environment) {
        opd_buffer_print(emit->out, "#include <string.h>\n");
    }
    if (need->guard || need->sparse) {
        opd_buffer_print(emit->out, "#include <sys/mman.h>\n");
    }
    if (need->child) {
        opd_buffer_print(emit->out, "#include <sys/wait.h>\n");
    }
    if (need->guard || need->child || need->environment) {
        opd_buffer_print(emit->out, "#include <unistd.h>\n");
    }
    opd_buffer_print(emit->out, "\n");
}

static void print_support(opd_emitter *emit, const needs *need)
{
    if (need->environment) {
        opd_buffer_print(
            emit->out,
            "\n/* The library reads its environment when it is loaded: set it, then start again. */\n"
            "static void need(char **argv, const char *name, const char *value)\n{\n"
            "    if (getenv(name) == NULL || strcmp(getenv(name), value) != 0) {\n"
            "        setenv(name, value, 1);\n        execv(\"/proc/self/exe\", argv);\n        exit(2);\n    }\n}\n");
    }
    if (need->sparse) {
        opd_buffer_print(emit->out,
                         "\n/* Address space without memory behind it until it is touched. */\n"
                         "static void *reserve(size_t size)\n{\n"
                         "    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,\n"
                         "                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);\n"
                         "    if (memory == MAP_FAILED) {\n        perror(\"mmap\");\n        exit(2);\n    }\n"
                         "    return memory;\n}\n");
    }
    if (need->refused) {
        opd_buffer_print(emit->out,
                         "\nstatic int refused; /* did the routine complain of an argument? */\n"
                         "void %s(const char *name, const %s *info, size_t length);\n"
                         "void %s(const char *name, const %s *info, size_t length)\n{\n"
                         "    refused = 1; /* info is 0 for a wrong storage order */\n"
                         "    while (length > 0 && name[length - 1] <= ' ') { /* padding */\n        length--;\n    }\n"
                         "    printf(\"%%.*s refuses argument %%d\\n\", (int)length, name, (int)*info);\n}\n",
                         emit->refusal, emit->int_type, emit->refusal, emit->int_type);
    }
    if (need->values) {
        opd_buffer_print(
            emit->out,
            "\nstatic int is_wrong(const char *name, long at, double got, double want, double bound)\n"
            "{\n    static int shown;\n    if (isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= bound) {\n"
            "        return 0;\n    }\n"
            "    if (shown++ < 8) {\n"
            "        printf(\"%%s[%%ld]: got %%.17g, want %%.17g within %%.3g\\n\", name, at, got, want, bound);\n    }\n"
            "    return 1;\n}\n");
    }
    if (need->finite) {
        opd_buffer_print(emit->out,
                         "\nstatic int is_wild(const char *name, long at, double got)\n{\n    static int shown;\n"
                         "    if (isfinite(got)) {\n        return 0;\n    }\n"
                         "    if (shown++ < 8) {\n"
                         "        printf(\"%%s[%%ld]: got %%g, not a finite number\\n\", name, at, got);\n    }\n"
                         "    return 1;\n}\n");
    }
}

/* failure->distance < 0: before the start. */
static void print_guard(opd_emitter *emit)
{
    bool at_start = emit->failure->distance < 0;
    const char *access = emit->failure->outcome == OPD_OUTCOME_OOB_WRITE ? "write" : "read";
    opd_buffer_print(emit->out,
                     "\nstatic char *edge; /* first byte that is not ours%s */\n\n"
                     "static void report(int signal_number, siginfo_t *info, void *context)\n{\n"
                     "    (void)signal_number;\n    (void)context;\n"
                     "    printf(\"FAIL: %s of byte %%+ld %s %s\\n\", (long)((char *)info->si_addr - edge));\n"
                     "    fflush(stdout);\n    _exit(1);\n}\n",
                     at_start ? ", counted backwards" : "", access, at_start ? "from the start of" : "past the end of",
                     emit->failure->operand);
    opd_buffer_print(
        emit->out,
        "\n/* A copy of data that%s an inaccessible page. */\n"
        "static void *guarded(const void *data, size_t size)\n{\n"
        "    size_t page = (size_t)sysconf(_SC_PAGESIZE);\n"
        "    size_t room = (size + page - 1) / page * page;\n"
        "    char *memory = mmap(NULL, room + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
        "    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0 ||\n"
        "        mprotect(memory + page + room, page, PROT_NONE) != 0) {\n"
        "        perror(\"mmap\");\n        exit(2);\n    }\n"
        "    struct sigaction action = { .sa_sigaction = report, .sa_flags = SA_SIGINFO };\n"
        "    sigaction(SIGSEGV, &action, NULL);\n    sigaction(SIGBUS, &action, NULL);\n"
        "    edge = memory + page%s;\n"
        "    return memcpy(%s, data, size);\n}\n",
        at_start ? " starts right after" : " ends at", at_start ? "" : " + room", at_start ? "edge" : "edge - size");
}

static void print_checks(opd_emitter *emit)
{
    const opd_call *call = &emit->item->call;
    for (int o = 0; o < call->operand_count; o++) {
        const opd_operand *operand = &call->operands[o];
        if (!opd_emit_is_checked(emit, o)) {
            continue;
        }
        char array[OPD_NAME + 8];
        bool is_returned = (operand->flags & OPD_OPERAND_RETURNED) != 0;
        const char *owner = is_returned ? operand->name : emit->arrays[emit->array_of[o]].name;
        snprintf(array, sizeof(array), "%s%s", owner, is_returned ? "_data" : "");
        const char *name = operand->name;
        if (opd_emit_has_values(emit, o)) {
            opd_buffer_print(emit->out,
                             "    for (size_t i = 0; i < sizeof %s_expected / sizeof %s_expected[0]; i++) {\n"
                             "        const expected *e = &%s_expected[i];\n"
                             "        bad += is_wrong(\"%s\", e->at, (double)%s[e->at], e->want, e->bound);\n    }\n",
                             name, name, name, name, array);
        } else {
            opd_buffer_print(emit->out,
                             "    for (size_t i = 0; i < sizeof %s_at / sizeof %s_at[0]; i++) {\n"
                             "        bad += is_wild(\"%s\", %s_at[i], (double)%s[%s_at[i]]);\n    }\n",
                             name, name, name, name, array, name);
        }
    }
}

static void print_run(opd_emitter *emit, const needs *need)
{
    bool is_judged = need->refused || need->values || need->finite;
    opd_buffer_print(emit->out, "\nstatic int run(void)\n{\n%s", is_judged ? "    int bad = 0;\n" : "");
    opd_emit_fills(emit);
    for (int i = 0; i < emit->array_count; i++) {
        const opd_emit_array *array = &emit->arrays[i];
        opd_buffer_print(emit->out,
                         array->is_guarded ? "    %s *%s = guarded(%s_data, sizeof %s_data);\n"
                                           : "    %s *%s = %s_data;\n",
                         opd_emit_type(array->dtype), array->name, array->name, array->name);
    }
    opd_emit_call(emit);
    if (need->refused) {
        opd_buffer_print(emit->out, "    bad += refused;\n");
    }
    print_checks(emit);
    opd_buffer_print(emit->out, is_judged ? "    puts(bad != 0 ? \"FAIL\" : \"ok\");\n    return bad != 0;\n}\n"
                                          : "    puts(\"ok\");\n    return 0;\n}\n");
}

static void print_main(opd_emitter *emit, const needs *need)
{
    opd_buffer_print(emit->out, need->environment ? "\nint main(int argc, char **argv)\n{\n    (void)argc;\n"
                                                  : "\nint main(void)\n{\n");
    if (emit->options->core != NULL) {
        opd_buffer_print(emit->out, "    need(argv, \"OPENBLAS_CORETYPE\", \"%s\");\n", emit->options->core);
    }
    if (emit->options->threads > 0) {
        opd_buffer_print(emit->out, "    need(argv, \"OPENBLAS_NUM_THREADS\", \"%d\");\n", (int)emit->options->threads);
    }
    if (!need->child) {
        opd_buffer_print(emit->out, "    return run();\n}\n");
        return;
    }
    opd_buffer_print(
        emit->out,
        "    int status = 0;\n    pid_t child = fork();\n    if (child == 0) {\n"
        "        alarm(%u);\n        exit(run());\n    }\n"
        "    if (child < 0 || waitpid(child, &status, 0) != child) {\n        perror(\"fork\");\n        return 2;\n    }\n"
        "    if (WIFSIGNALED(status)) {\n"
        "        printf(\"FAIL: killed by signal %%d (%%s)\\n\", WTERMSIG(status), strsignal(WTERMSIG(status)));\n"
        "        return 1;\n    }\n    return WEXITSTATUS(status);\n}\n",
        emit->options->seconds > 0 ? emit->options->seconds : 60U);
}

opd_status opd_emit_c(opd_buffer *out, const opd_case *item, const opd_failure *failure,
                      const opd_emit_options *options)
{
    static const opd_emit_options defaults = { 0 };
    opd_emitter *emit = NULL;
    opd_status status = opd_alloc((void **)&emit, sizeof(*emit));
    if (status != OPD_OK) {
        return status;
    }
    status = opd_emit_prepare(emit, out, item, failure, options != NULL ? options : &defaults);
    if (status == OPD_OK) {
        needs need = needs_of(emit);
        print_head(emit, &need);
        opd_emit_prototype(emit);
        opd_buffer_print(out, "\n");
        opd_emit_arrays(emit);
        opd_emit_tables(emit);
        print_support(emit, &need);
        if (need.guard) {
            print_guard(emit);
        }
        print_run(emit, &need);
        print_main(emit, &need);
        status = out->status;
    }
    opd_free(emit);
    return status;
}
