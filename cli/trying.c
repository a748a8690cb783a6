/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on several workers; determinism from their findings and, over batches and instruction sets, from further runs. */
#include "trying.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "making.h"
#include "screen.h"

enum { BATCH = 4 };

typedef struct work {
    const opd_trying *trying;
    opd_tried *tried;
    atomic_int next;
    atomic_int late; /* -1 = none */
} work;

static void *carry_out(void *context)
{
    work *self = context;
    int count = self->tried->probes.count;
    for (int i = atomic_fetch_add(&self->next, 1); i < count; i = atomic_fetch_add(&self->next, 1)) {
        if (atomic_load(&self->late) >= 0) { /* it would be waited for in each of them */
            self->tried->findings[i].status = OPD_E_DECLINED;
            continue;
        }
        opd_progress("%s: %d of %d", self->trying->what, i + 1, count);
        const opd_probe_way way = { .variant = self->trying->variant,
                                    .library = self->trying->library,
                                    .seed = self->trying->seed + (uint64_t)i,
                                    .timeout_ms = self->trying->timeout_ms,
                                    .peers = self->trying->peers };
        opd_probe_run(&self->tried->findings[i], self->trying->op, &self->tried->probes.items[i], &way);
        int none = -1;
        if (self->tried->findings[i].is_definition_late) {
            atomic_compare_exchange_strong(&self->late, &none, i);
        }
    }
    return NULL;
}

/* Of the variant, or of the fastest one when any may run. */
static const char *widths_of(const opd_trying *trying)
{
    const opd_kernel *kernel = opd_kernel_find(trying->op->domain, trying->op->name);
    const opd_variant *variant = NULL;
    if (kernel != NULL && trying->variant != NULL) {
        variant = opd_kernel_named(kernel, trying->variant);
        return variant != NULL ? variant->widths : NULL;
    }
    for (int i = 0; kernel != NULL && (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        if (opd_variant_is_choice(variant) && opd_isa_missing(variant->isa) == NULL) {
            return variant->widths;
        }
    }
    return NULL;
}

unsigned opd_default_jobs(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 1 ? 1 : cpus < OPD_MOST_JOBS ? (unsigned)cpus : OPD_MOST_JOBS;
}

void opd_try_on_threads(unsigned jobs, void *(*body)(void *context), void *context)
{
    pthread_t threads[OPD_MOST_JOBS];
    unsigned started = 0;
    while (started + 1 < jobs && started < OPD_MOST_JOBS &&
           pthread_create(&threads[started], NULL, body, context) == 0) {
        started++;
    }
    body(context);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    opd_progress_done();
}

opd_status opd_try_all(opd_tried *out, const opd_trying *trying)
{
    opd_tried tried = { .first_failure = -1 };
    opd_status status = trying->only != NULL
                            ? opd_probes_one(&tried.probes, trying->only)
                            : opd_probes_make(&tried.probes, trying->op, widths_of(trying), trying->all_dtypes);
    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&tried.findings, (size_t)tried.probes.count, sizeof *tried.findings);
    }
    if (status != OPD_OK) {
        opd_tried_done(&tried);
        return status;
    }
    work shared = { trying, &tried, 0, -1 };
    opd_try_on_threads(trying->jobs, carry_out, &shared);
    tried.late = atomic_load(&shared.late);
    for (int i = 0; i < tried.probes.count; i++) {
        const opd_finding *finding = &tried.findings[i];
        bool is_nothing = finding->status == OPD_E_INVALID || finding->status == OPD_E_DECLINED;
        tried.calls += finding->status == OPD_OK;
        tried.refused += finding->status != OPD_OK && !is_nothing;
        if (opd_finding_is_failure(finding)) {
            tried.first_failure = tried.first_failure < 0 ? i : tried.first_failure;
            tried.failures++;
        }
    }
    *out = tried;
    return OPD_OK;
}

void opd_tried_done(opd_tried *tried)
{
    opd_probes_done(&tried->probes);
    opd_free(tried->findings);
    tried->findings = NULL;
}

/* ---------------------------------------------------------------------------------------------- determinism */

const char *opd_determinism_text(int level)
{
    static const char *const texts[] = { "none", "run", "threads", "batch", "isa" };
    return level >= 0 && level < (int)OPD_COUNT(texts) ? texts[level] : "?";
}

static void note(opd_bits *to, bool is_same)
{
    *to = is_same ? (*to == OPD_BITS_OTHER ? OPD_BITS_OTHER : OPD_BITS_SAME) : OPD_BITS_OTHER;
}

static opd_status run_case(opd_replay_result *out, const opd_case *item, const opd_trying *trying, const char *variant)
{
    opd_replay_options options = OPD_REPLAY_OPTIONS_INIT;
    options.variant = variant;
    options.library = trying->library;
    options.skip_reference = true;
    options.keep_outputs = true;
    return opd_replay(out, NULL, item, NULL, &options);
}

/* The call again with one element of its first dimension: the first slice of every operand that has it. */
static opd_status take_slice(opd_case *out, const opd_case *whole)
{
    opd_call call = whole->call;
    opd_case slice = { 0 };
    opd_status status = opd_call_set(&call, call.symbols[0].name, 1);
    for (int i = 0; i < call.operand_count; i++) {
        call.operands[i].view.data = NULL;
    }
    if (status == OPD_OK) {
        status = opd_case_allocate(&slice, &call, (uint64_t)1 << 30);
    }
    for (int i = 0; i < call.operand_count && status == OPD_OK; i++) {
        opd_operand *operand = &slice.call.operands[i];
        opd_tensor from = whole->call.operands[i].view;
        void *packed = NULL;
        if (operand->role == OPD_ROLE_OUT || from.data == NULL) {
            operand->view.data = NULL;
            continue;
        }
        memcpy(from.shape, operand->view.shape,
               sizeof from.shape); /* its first elements, with the strides of the whole */
        status = opd_alloc(&packed, (size_t)opd_tensor_packed_bytes(&from) + 1);
        if (status == OPD_OK) {
            opd_tensor_pack(packed, &from);
            opd_tensor_unpack(&operand->view, packed);
        }
        opd_free(packed);
    }
    if (status != OPD_OK) {
        opd_case_done(&slice);
        return status;
    }
    *out = slice;
    return OPD_OK;
}

static bool has_same_start(const opd_replay_result *whole, const opd_replay_result *slice)
{
    for (int i = 0; i < slice->output_count; i++) {
        opd_tensor view = whole->outputs[i].view;
        const opd_tensor *other = &slice->outputs[i].view;
        if (view.data == NULL || other->data == NULL) {
            continue;
        }
        memcpy(view.shape, other->shape, sizeof view.shape);
        opd_digest a = opd_tensor_digest(&view);
        opd_digest b = opd_tensor_digest(other);
        if (!opd_digest_equal(&a, &b)) {
            return false;
        }
    }
    return true;
}

/* Has every output an element for each of the batch? A sum over the first dimension has not, and no bits to keep. */
static bool is_batched(const opd_call *whole, const opd_call *slice)
{
    bool is_any = false;
    for (int i = 0; i < whole->operand_count; i++) {
        const opd_tensor *all = &whole->operands[i].view;
        const opd_tensor *one = &slice->operands[i].view;
        if (whole->operands[i].role != OPD_ROLE_OUT || (whole->operands[i].flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        if (all->rank < 1 || one->rank != all->rank || all->shape[0] != BATCH || one->shape[0] != 1) {
            return false;
        }
        is_any = true;
    }
    return is_any;
}

/* Bits of a batch's first element alone and among others. */
static void compare_batch(opd_bits *out, const opd_trying *trying)
{
    opd_making making = OPD_MAKING_INIT;
    opd_case plain = { 0 };
    opd_case slice = { 0 };
    opd_replay_result whole;
    opd_replay_result part;
    making.seed = trying->seed;
    if (opd_making_fill(&plain, trying->op, &making) != OPD_OK) {
        return;
    }
    opd_call call = plain.call;
    char shapes[256] = "";
    bool is_made = call.symbol_count > 1 && call.operands[0].view.rank > 1 &&
                   opd_call_set(&call, call.symbols[0].name, BATCH) == OPD_OK &&
                   call.operands[0].view.shape[0] == BATCH;
    if (is_made) {
        opd_probe_print_shapes(shapes, sizeof shapes, &call);
    }
    opd_case_done(&plain);
    making.wish.shapes = shapes;
    if (!is_made || opd_making_fill(&plain, trying->op, &making) != OPD_OK) {
        return;
    }
    if (take_slice(&slice, &plain) == OPD_OK) {
        bool is_tried = is_batched(&plain.call, &slice.call);
        if (is_tried && run_case(&whole, &plain, trying, trying->variant) == OPD_OK) {
            if (run_case(&part, &slice, trying, trying->variant) == OPD_OK) {
                note(out, has_same_start(&whole, &part));
                opd_replay_result_done(&part);
            }
            opd_replay_result_done(&whole);
        }
        opd_case_done(&slice);
    }
    opd_case_done(&plain);
}

/* Bits of the operator's own variants for other instruction sets. */
static void compare_isa(opd_bits *out, const opd_tried *tried, const opd_trying *trying)
{
    const opd_kernel *kernel = opd_kernel_find(trying->op->domain, trying->op->name);
    const opd_replay_result *mine = &tried->findings[0].result;
    const opd_variant *variant = NULL;
    for (int i = 0; kernel != NULL && (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        static const char *const families[] = { "avx512", "avx2", "portable" };
        opd_finding other;
        bool is_mine = strcmp(variant->name, mine->variant) == 0;
        bool is_family = false;
        for (size_t k = 0; k < OPD_COUNT(families); k++) {
            is_family |= strcmp(variant->name, families[k]) == 0;
        }
        if (is_mine || !is_family || !opd_variant_is_choice(variant) || opd_isa_missing(variant->isa) != NULL) {
            continue;
        }
        const opd_probe_way way = { .variant = variant->name, .library = trying->library, .seed = trying->seed };
        opd_probe_run(&other, trying->op, &tried->probes.items[0], &way);
        for (int k = 0; other.status == OPD_OK && k < mine->output_count; k++) {
            note(out, opd_digest_equal(&mine->outputs[k].after, &other.result.outputs[k].after));
        }
    }
}

void opd_matrix_read(opd_matrix *out, const opd_tried *tried, const opd_trying *trying)
{
    opd_matrix matrix = { .declared = opd_declared_determinism(trying->op, tried->findings[0].result.variant),
                          .is_kept = true };
    for (int i = 0; i < tried->probes.count; i++) {
        const opd_finding *finding = &tried->findings[i];
        if (finding->status == OPD_OK && tried->probes.items[i].kind == OPD_PROBE_REPEAT && finding->result.runs > 1) {
            note(&matrix.bits[OPD_DETERMINISM_RUN], finding->result.runs_differing == 0);
        }
        if (finding->status == OPD_OK && tried->probes.items[i].kind == OPD_PROBE_THREADS) {
            note(&matrix.bits[OPD_DETERMINISM_THREADS], !finding->is_thread_dependent);
        }
    }
    if (tried->findings[0].status == OPD_OK) {
        compare_batch(&matrix.bits[OPD_DETERMINISM_BATCH], trying);
        compare_isa(&matrix.bits[OPD_DETERMINISM_ISA], tried, trying);
    }
    for (int level = OPD_DETERMINISM_RUN; level <= (int)matrix.declared; level++) {
        matrix.is_kept &= matrix.bits[level] != OPD_BITS_OTHER;
    }
    *out = matrix;
}
