/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's library that does what a tool must survive. The operator Keep copies its input; its variants misbehave in one way each. With OPD_TEST_BREAK
 * set, the library itself is broken in the way that the word says.
 */
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <opsdebug/kernel.h>

static int64_t count_of(const opd_call *call)
{
    return opd_tensor_count(&call->operands[0].view);
}

static void keep(const opd_call *call)
{
    memcpy(call->operands[1].view.data, call->operands[0].view.data, (size_t)count_of(call) * sizeof(float));
}

static volatile int *volatile nowhere; /* NULL */

static volatile bool is_to_crash, is_awaited;

/* A definition that misses an end of what is its own, or writes where nothing is. */
static void stray(opd_definition_work *work, const char *how)
{
    const opd_array *x = &work->array[0];
    opd_array *y = &work->array[1];
    volatile long double *value = y->value;
    if (strcmp(how, "writes-past") == 0) {
        value[y->count] = 7;
    } else if (strcmp(how, "writes-far") == 0) {
        for (int64_t i = 1; i < 3000; i++) { /* through what else lies there */
            value[y->count + i] = 7;
        }
    } else if (strcmp(how, "writes-before") == 0) {
        value[-1] = 7;
    } else if (strcmp(how, "reads-past") == 0) {
        x->value[x->count - 1] = ((volatile long double *)x->value)[x->count];
    } else if (strcmp(how, "reads-before") == 0) {
        x->value[0] = ((volatile long double *)x->value)[-1];
    } else if (strcmp(how, "gauge-past") == 0 && y->gauge != NULL) {
        ((volatile long double *)y->gauge)[y->count] = 7;
    } else if (strcmp(how, "needs-gauge") == 0) {
        ((volatile long double *)y->gauge)[0] = 7;
    } else if (strcmp(how, "writes-input") == 0) {
        ((volatile float *)work->call->operands[0].view.data)[0] = 7;
    } else if (strcmp(how, "writes-beside") == 0) {
        ((volatile float *)work->call->operands[1].view.data)[count_of(work->call)] = 7;
    } else if (strcmp(how, "rounds") == 0) {
        fesetround(FE_TOWARDZERO);
    } else if (strcmp(how, "refuses") == 0) {
        exit(3);
    }
}

static opd_status define(opd_definition_work *work)
{
    while (
        is_to_crash) { /* the thread that is left behind crashes now, and has the time it needs however busy the machine is */
        is_awaited = true;
        usleep(1000);
    }
    const char *broken = getenv("OPD_TEST_BREAK");
    if (broken != NULL && strcmp(broken, "definition") == 0) {
        abort();
    }
    if (broken != NULL && strcmp(broken, "definition-hangs") == 0) {
        while (getpid() > 0) {
        }
    }
    if (broken != NULL && strcmp(broken, "definition-sleeps") == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL); /* no timer of this process ends it */
        for (;;) {
            pause();
        }
    }
    if (broken != NULL && strcmp(broken, "definition-strays") == 0) {
        *nowhere = 1;
    }
    if (broken != NULL && strncmp(broken, "definition-", 11) == 0) {
        stray(work, broken + 11);
    }
    for (int64_t i = 0; i < work->array[1].count; i++) {
        work->array[1].value[i] = work->array[0].value[i];
        if (work->array[1].gauge != NULL) {
            work->array[1].gauge[i] = fabsl(work->array[0].value[i]);
        }
    }
    if (broken != NULL && strcmp(broken, "definition-breaks-arrays") == 0) {
        work->array[1].count = (int64_t)1 << 40;
        work->array[1].value = NULL;
    }
    return OPD_OK;
}

#define VARIANT(name) static opd_status run_##name(const opd_call *call, const opd_workspace *workspace)

VARIANT(keeps)
{
    (void)workspace;
    keep(call);
    return OPD_OK;
}

VARIANT(crashes)
{
    (void)workspace;
    keep(call);
    *nowhere = 1;
    return OPD_OK;
}

VARIANT(dies_in_company)
{
    keep(call);
    if (workspace->threads == 3) {
        abort();
    }
    return OPD_OK;
}

VARIANT(recurses)
{
    volatile char block[4096];
    block[0] = (char)call->operand_count;
    opd_status status = block[0] == 99 ? OPD_OK : run_recurses(call, workspace);
    return block[0] == 0 ? OPD_OK : status; /* no tail call */
}

VARIANT(hangs)
{
    (void)call;
    (void)workspace;
    while (getpid() > 0) {
    }
    return OPD_OK;
}

VARIANT(outside)
{
    (void)workspace;
    keep(call);
    ((volatile float *)call->operands[1].view.data)[count_of(call)] = 1;
    return OPD_OK;
}

VARIANT(exits)
{
    (void)workspace;
    keep(call);
    exit(0);
}

VARIANT(closes)
{
    (void)workspace;
    keep(call);
    for (int i = 0; i < 64; i++) {
        close(i);
    }
    return OPD_OK;
}

VARIANT(talks)
{
    (void)workspace;
    keep(call);
    for (int i = 0; i < 100000; i++) {
        printf("PASS {\"verdict\": \"PASS\"} line %d of a log nobody asked for\n", i);
    }
    return OPD_OK;
}

VARIANT(rounds)
{
    (void)workspace;
    keep(call);
    fesetround(FE_TOWARDZERO);
    return OPD_OK;
}

/* Precision of x87 to 24 bits, by which every long double afterwards would be computed. */
VARIANT(shortens)
{
    unsigned short word = 0;
    (void)workspace;
    keep(call);
    __asm__ volatile("fnstcw %0" : "=m"(word));
    word = (unsigned short)(word & ~0x300U);
    __asm__ volatile("fldcw %0" : : "m"(word));
    return OPD_OK;
}

VARIANT(devours)
{
    size_t size = (size_t)100 << 30;
    void *block = malloc(size);
    (void)workspace;
    if (block == NULL) {
        return opd_fail(OPD_E_NOMEM, "no %zu bytes", size);
    }
    memset(block, 1, size);
    keep(call);
    free(block);
    return OPD_OK;
}

VARIANT(refuses)
{
    (void)call;
    (void)workspace;
    return OPD_E_INVALID;
}

static const opd_call *later_call;

static void *write_later(void *unused)
{
    (void)unused;
    usleep(300000);
    keep(later_call);
    return NULL;
}

static void *crash_later(void *unused)
{
    (void)unused;
    while (!is_awaited) {
        usleep(1000);
    }
    abort();
}

static void *sleep_on(void *unused)
{
    (void)unused;
    pause();
    return NULL;
}

static void start(void *(*body)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_detach(thread);
}

VARIANT(late)
{
    (void)workspace;
    later_call = call;
    start(write_later);
    return OPD_OK;
}

VARIANT(afterwards)
{
    (void)workspace;
    keep(call);
    is_to_crash = true;
    start(crash_later);
    return OPD_OK;
}

VARIANT(lingers)
{
    (void)workspace;
    keep(call);
    for (int i = 0; i < 8; i++) {
        start(sleep_on);
    }
    return OPD_OK;
}

static opd_status shape(opd_call *call)
{
    const char *broken = getenv("OPD_TEST_BREAK");
    int64_t first = call->operands[0].view.rank > 0 ? call->operands[0].view.shape[0] : 0;
    if (broken != NULL && strcmp(broken, "shape") == 0) {
        abort();
    }
    if (first == 13) {
        abort();
    }
    return OPD_OK;
}

#define KEEP(id)                                                         \
    {                                                                    \
        .name = #id, .run = run_##id, .determinism = OPD_DETERMINISM_RUN \
    }
static opd_variant variants[] = {
    KEEP(keeps),  KEEP(crashes),    KEEP(recurses), KEEP(hangs),           KEEP(outside), KEEP(exits),
    KEEP(closes), KEEP(talks),      KEEP(rounds),   KEEP(shortens),        KEEP(devours), KEEP(refuses),
    KEEP(late),   KEEP(afterwards), KEEP(lingers),  KEEP(dies_in_company),
};
static opd_op ops[] = {
    { .domain = "hostile",
      .name = "Keep",
      .types = "f32",
      .signature = "X:T[n...] -> Y:T[n...]",
      .attributes = "axis:i=0 mode:s=one|two",
      .flops = "prod(n)",
      .reduction = "0",
      .summary = "Y = X",
      .shape = shape,
      .bound = { .kind = OPD_BOUND_BITS } },
};
static opd_kernel kernels[] = { { "hostile", "Keep", define, variants, (int)(sizeof variants / sizeof *variants) } };
static opd_library library = { OPD_LIBRARY_INIT, .ops = ops, .op_count = 1, .kernels = kernels, .kernel_count = 1 };

__attribute__((constructor)) static void begin(void)
{
    const char *broken = getenv("OPD_TEST_BREAK");
    if (broken != NULL && strcmp(broken, "constructor") == 0) {
        raise(SIGSEGV);
    }
    puts("the library greets");
}

static const struct break_text {
    const char *word;
    const char **place;
    const char *text;
} texts[] = {
    { "signature", &ops[0].signature, "X:T[n..., -> Y:T[n...]" },
    { "symbol", &ops[0].signature, "X:T[n...] -> Y:T[m + 1]" },
    { "type", &ops[0].types, "f32 f33" },
    { "attribute", &ops[0].attributes, "axis:q=0" },
    { "flops", &ops[0].flops, "2 * nobody" },
    { "no-signature", &ops[0].signature, NULL },
    { "no-domain", &ops[0].domain, NULL },
    { "taken", &ops[0].domain, "ai.onnx" },
    { "twins", &variants[1].name, "keeps" },
    { "naive", &variants[1].name, "naive" },
    { "unnamed", &variants[1].name, NULL },
    { "stranger", &kernels[0].name, "Kept" },
};

OPD_PUBLIC const opd_library *opsdebug_library(void);
const opd_library *opsdebug_library(void)
{
    const char *broken = getenv("OPD_TEST_BREAK");
    broken = broken != NULL ? broken : "";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(texts[i].word, broken) == 0) {
            *texts[i].place = texts[i].text;
        }
    }
    if (strcmp(broken, "taken") == 0) {
        ops[0].name = kernels[0].name = "Relu";
        kernels[0].domain = "ai.onnx";
    }
    kernels[0].define = strcmp(broken, "undefined") == 0 ? NULL : define;
    library.abi = strcmp(broken, "abi") == 0 ? 77 : library.abi;
    library.call_bytes += strcmp(broken, "sizes") == 0 ? 8 : 0;
    library.op_count = strcmp(broken, "empty") == 0 ? 0 : library.op_count;
    library.kernel_count = strcmp(broken, "empty") == 0 ? 0 : library.kernel_count;
    ops[0].bound.limit = strcmp(broken, "bound") == 0 ? -1.0F : 0;
    variants[1].determinism = strcmp(broken, "level") == 0 ? (opd_determinism)9 : variants[1].determinism;
    variants[1].run = strcmp(broken, "no-run") == 0 ? NULL : variants[1].run;
    while (strcmp(broken, "entry-hangs") == 0) {
    }
    if (strcmp(broken, "leaves") == 0) {
        exit(0);
    }
    return strcmp(broken, "nothing") == 0 ? NULL : &library;
}
