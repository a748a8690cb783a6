/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind of a fault by its evidence. First what needs no comparison of probes (bounds, memory, crashes), then what only one kind of probe
 * shows, then the pattern of wrong values.
 */
#include "detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#define MANY_TERMS 1000

typedef struct evidence {
    const opd_op *op;
    const opd_probe *probes;
    const opd_finding *findings;
    int count;
    int failed[OPD_PROBE_KINDS];
} evidence;

static bool is_failed(const evidence *of, int index)
{
    return opd_finding_is_failure(&of->findings[index]);
}

static bool is_wrong_value(const evidence *of, int index)
{
    opd_outcome outcome = of->findings[index].result.observed.outcome;
    return is_failed(of, index) &&
           (outcome == OPD_OUTCOME_MISMATCH || outcome == OPD_OUTCOME_NAN_BORN || outcome == OPD_OUTCOME_INF_BORN);
}

/* As large as the error of a sum in a short format: rounding, however much of it. */
static bool is_small_error(const evidence *of, int index)
{
    return is_wrong_value(of, index) && of->findings[index].result.numbers.ratio * 0x1p-23 < 0x1p-5;
}

/* Are terms summed at all? */
static bool has_sum(const evidence *of)
{
    return of->op->reduction != NULL && strcmp(of->op->reduction, "0") != 0;
}

/* The first probe with an outcome; -1 = none. */
static int find_outcome(const evidence *of, opd_outcome outcome)
{
    for (int i = 0; i < of->count; i++) {
        if (is_failed(of, i) && of->findings[i].result.observed.outcome == outcome) {
            return i;
        }
    }
    return -1;
}

static bool has_failed(const evidence *of, opd_probe_kind kind)
{
    return of->failed[kind] > 0;
}

/* Nothing but this kind fails. */
static bool is_only(const evidence *of, opd_probe_kind kind)
{
    for (int i = 0; i < OPD_PROBE_KINDS; i++) {
        if (i != (int)kind && of->failed[i] > 0) {
            return false;
        }
    }
    return of->failed[kind] > 0;
}

/* Nothing but these two kinds fails. */
static bool is_only_either(const evidence *of, opd_probe_kind a, opd_probe_kind b)
{
    for (int i = 0; i < OPD_PROBE_KINDS; i++) {
        if (i != (int)a && i != (int)b && of->failed[i] > 0) {
            return false;
        }
    }
    return true;
}

/* Only operands that are not where an allocator would put them; those against guard pages are not either. */
static bool is_alignment(const evidence *of)
{
    return has_failed(of, OPD_PROBE_MISALIGNED) && is_only_either(of, OPD_PROBE_MISALIGNED, OPD_PROBE_GUARD);
}

static const char *kind_of_memory(const evidence *of)
{
    static const struct {
        opd_outcome outcome;
        const char *kind;
    } plain[] = {
        { OPD_OUTCOME_OOB_READ, "out-of-bounds-read" },
        { OPD_OUTCOME_INPUT_MUTATED, "input-mutated" },
        { OPD_OUTCOME_HANG, "hang" },
        { OPD_OUTCOME_CRASH, "crash" },
        { OPD_OUTCOME_UNWRITTEN, "unwritten" },
        { OPD_OUTCOME_MODE, "fp-mode" },
    };
    int at = find_outcome(of, OPD_OUTCOME_OOB_WRITE);
    if (at >= 0) {
        bool is_workspace = strcmp(of->findings[at].result.observed.operand, "workspace") == 0;
        return is_workspace                               ? "workspace-overrun"
               : of->probes[at].kind == OPD_PROBE_STRIDED ? "gap-write"
                                                          : "out-of-bounds-write";
    }
    for (size_t i = 0; i < OPD_COUNT(plain); i++) {
        at = find_outcome(of, plain[i].outcome);
        if (at >= 0 && (plain[i].outcome != OPD_OUTCOME_UNWRITTEN || of->probes[at].kind != OPD_PROBE_IN_PLACE)) {
            return plain[i].kind;
        }
    }
    return NULL;
}

/* The first run alone is wrong, and whatever runs once. */
static bool is_first_call(const evidence *of)
{
    for (int i = 0; i < of->count; i++) {
        const opd_replay_result *result = &of->findings[i].result;
        if (of->probes[i].kind == OPD_PROBE_REPEAT && is_failed(of, i) && result->runs > 2 &&
            result->runs_failed == 1 && result->runs_differing == result->runs - 1) {
            return true;
        }
    }
    return false;
}

static const char *kind_of_conduct(const evidence *of)
{
    if (is_first_call(of)) {
        return "first-call";
    }
    if (has_failed(of, OPD_PROBE_POISONED) && is_only_either(of, OPD_PROBE_POISONED, OPD_PROBE_FILL)) {
        return "stale-state"; /* rows of one call are calls after each other too */
    }
    if (is_only(of, OPD_PROBE_REPEAT)) {
        return find_outcome(of, OPD_OUTCOME_ALLOCATED) >= 0 ? "allocation" : "unstable";
    }
    for (int i = 0; i < of->count; i++) {
        if (of->findings[i].result.observed.outcome == OPD_OUTCOME_UNSTABLE && of->probes[i].kind == OPD_PROBE_REPEAT) {
            return "unstable";
        }
    }
    static const struct {
        opd_probe_kind probe;
        const char *kind;
    } alone[] = {
        { OPD_PROBE_AT_ONCE, "race" },        { OPD_PROBE_THREADS, "thread-dependent" },
        { OPD_PROBE_IN_PLACE, "alias" },      { OPD_PROBE_SAME_INPUT, "alias" },
        { OPD_PROBE_STRIDED, "stride" },      { OPD_PROBE_UNREAD, "must-not-read" },
        { OPD_PROBE_BROADCAST, "broadcast" }, { OPD_PROBE_NEGATIVE, "negative-index" },
        { OPD_PROBE_EMPTY, "empty" },
    };
    for (size_t i = 0; i < OPD_COUNT(alone); i++) {
        if (is_only(of, alone[i].probe)) {
            return alone[i].kind;
        }
    }
    return NULL;
}

/* Old content of an output, or of the workspace, read. */
static bool reads_unwritten(const evidence *of)
{
    for (int i = 0; i < of->count; i++) {
        const char *reason = of->findings[i].result.observed.reason;
        bool is_old = strstr(reason, "old content") != NULL || strstr(reason, "unwritten workspace") != NULL;
        if (is_failed(of, i) && is_old) {
            return true;
        }
    }
    return false;
}

static bool is_fill(const opd_probe *probe, const char *start)
{
    return probe->kind == OPD_PROBE_FILL && strncmp(probe->fill, start, strlen(start)) == 0;
}

/* A sum of many terms that is off by no more than rounding can pile up to in them: a fault of its own, or none, beside one that few terms show. */
static bool is_long_sum(const evidence *of, int index)
{
    const opd_probe *probe = &of->probes[index];
    return probe->kind == OPD_PROBE_SHAPE && probe->value >= MANY_TERMS && has_sum(of) && is_small_error(of, index);
}

/* Do only probes with one of these fills fail? */
static bool is_only_fill(const evidence *of, const char *const *starts)
{
    if (!has_failed(of, OPD_PROBE_FILL)) {
        return false;
    }
    for (int i = 0; i < of->count; i++) {
        bool is_one = is_long_sum(of, i);
        for (const char *const *start = starts; *start != NULL; start++) {
            is_one |= is_fill(&of->probes[i], *start);
        }
        if (is_failed(of, i) && !is_one) {
            return false;
        }
    }
    return true;
}

static bool is_integer_output(const evidence *of)
{
    for (int i = 0; i < of->count; i++) {
        const opd_call *call = &of->findings[i].call;
        for (int k = 0; k < call->operand_count && is_failed(of, i); k++) {
            const opd_operand *operand = &call->operands[k];
            bool is_there = operand->role == OPD_ROLE_OUT && (operand->flags & OPD_OPERAND_ABSENT) == 0;
            if (is_there && !opd_dtype_is_float(operand->view.dtype)) {
                return true;
            }
        }
    }
    return false;
}

static bool has_failed_fill(const evidence *of, const char *start)
{
    for (int i = 0; i < of->count; i++) {
        if (is_failed(of, i) && is_fill(&of->probes[i], start)) {
            return true;
        }
    }
    return false;
}

/* Small values around zero are right where those of the contract's own fill are wrong: its fill has what they lack. */
static bool is_right_around_zero(const evidence *of)
{
    for (int i = 0; i < of->count; i++) {
        if (is_fill(&of->probes[i], "normal:0:")) {
            return of->findings[i].status == OPD_OK && !is_failed(of, i);
        }
    }
    return false;
}

/*
 * Few terms with a large mean are wrong, others right: there is no sum of many where rounding could pile up. Sums of many may be wrong besides. What cancels
 * may leave a negative square, and so a NaN; that it is not their size shows where large terms are equal, and nothing is left to cancel.
 */
static bool is_cancellation(const evidence *of)
{
    bool has_offset = false;
    bool is_size = has_failed_fill(of, "constant:100") || has_failed_fill(of, "constant:200");
    bool is_own_fill = has_failed(of, OPD_PROBE_PLAIN) && is_right_around_zero(of);
    for (int i = 0; i < of->count; i++) {
        const opd_probe *probe = &of->probes[i];
        bool is_large = is_fill(probe, "normal:1000:1") || is_fill(probe, "constant") || is_fill(probe, "special");
        bool is_long = probe->kind == OPD_PROBE_SHAPE && probe->value >= MANY_TERMS;
        is_large |= is_own_fill && probe->kind != OPD_PROBE_FILL;
        if (is_failed(of, i) && !is_large && !is_long) {
            return false;
        }
        opd_outcome outcome = of->findings[i].result.observed.outcome;
        has_offset |= is_fill(probe, "normal:1000:1") && is_failed(of, i) &&
                      (outcome == OPD_OUTCOME_MISMATCH || (outcome == OPD_OUTCOME_NAN_BORN && !is_size));
    }
    return has_offset && has_sum(of);
}

static const char *kind_of_fill(const evidence *of)
{
    static const char *const nan[] = { "constant:nan", "special", NULL };
    static const char *const subnormal[] = { "constant:1e-40", "special", NULL };
    static const char *const range[] = { "constant:85", "constant:100", "constant:200",  "constant:1e9",
                                         "special",     "longtail:1:4", "normal:1000:1", NULL };
    static const char *const ties[] = { "constant", "integers", "special", NULL };
    if (is_only_fill(of, nan)) {
        return "nan-rule";
    }
    if (is_only_fill(of, subnormal)) {
        return "subnormal";
    }
    if (is_integer_output(of)) {
        return is_only_fill(of, ties) ? "ties" : NULL;
    }
    if (is_cancellation(of)) {
        return "cancellation";
    }
    return is_only_fill(of, range) ? "range" : NULL;
}

/* ---------------------------------------------------------------------------------------- patterns of values */

/* Sizes that fail are all beyond one that does not, of one symbol: blocks and what is left of them. */
static bool is_seam(const evidence *of)
{
    int64_t largest_right = 0;
    int64_t least_wrong = INT64_MAX;
    for (int i = 0; i < of->count; i++) {
        const opd_probe *probe = &of->probes[i];
        bool is_size = probe->kind == OPD_PROBE_SHAPE && strcmp(probe->changed, "all") != 0;
        if (is_failed(of, i) && !is_size && probe->kind != OPD_PROBE_DTYPE) {
            const opd_call *call = &of->findings[i].call; /* the default sizes are large too */
            bool is_large = false;
            for (int k = 0; k < call->symbol_count; k++) {
                is_large |= call->symbols[k].i > 64;
            }
            if (!is_large) {
                return false;
            }
            continue;
        }
        if (is_failed(of, i)) {
            least_wrong = probe->value < least_wrong ? probe->value : least_wrong;
        } else if (is_size && of->findings[i].status == OPD_OK && probe->value < 64 && probe->value > largest_right) {
            largest_right = probe->value;
        }
    }
    return least_wrong != INT64_MAX && least_wrong > largest_right && largest_right > 0;
}

/* How many dimensions of a call's largest input are over 1. */
static int extents(const opd_call *call)
{
    int most = 0;
    for (int i = 0; i < call->operand_count; i++) {
        int count = 0;
        for (int k = 0; k < call->operands[i].view.rank && call->operands[i].role != OPD_ROLE_OUT; k++) {
            count += call->operands[i].view.shape[k] > 1;
        }
        most = count > most ? count : most;
    }
    return most;
}

/* Vectors and scalars are right; what has an order of dimensions is not. Operators with inputs of their own kind (indices, scales) are never told so. */
static bool is_order(const evidence *of)
{
    bool has_right = false;
    bool has_wrong = false;
    if (of->op->generate != NULL) {
        return false;
    }
    for (int i = 0; i < of->count; i++) {
        bool is_plain = of->probes[i].kind == OPD_PROBE_SHAPE || of->probes[i].kind == OPD_PROBE_PLAIN;
        if (!is_plain || of->findings[i].status != OPD_OK) {
            continue;
        }
        bool is_line = extents(&of->findings[i].call) < 2;
        if (is_failed(of, i) && is_line) {
            return false;
        }
        if (is_wrong_value(of, i) && of->findings[i].result.numbers.ratio * 0x1p-23 < 0x1p-10) {
            return false; /* elements of other places are far off */
        }
        has_right |= !is_failed(of, i) && is_line && extents(&of->findings[i].call) == 1;
        has_wrong |= is_wrong_value(of, i) && !is_line;
    }
    return has_right && has_wrong;
}

/* Is a leading dimension what decides? */
static bool is_batch(const evidence *of)
{
    bool has_right = false;
    bool has_wrong = false;
    for (int i = 0; i < of->count; i++) {
        const opd_tensor *view = &of->findings[i].call.operands[0].view;
        bool is_plain = of->probes[i].kind == OPD_PROBE_SHAPE || of->probes[i].kind == OPD_PROBE_PLAIN ||
                        of->probes[i].kind == OPD_PROBE_FILL;
        if (!is_plain || of->findings[i].status != OPD_OK || view->rank < 3) {
            continue;
        }
        bool is_many = view->shape[0] > 1;
        if (is_wrong_value(of, i) != is_many && of->probes[i].kind != OPD_PROBE_FILL) {
            return false;
        }
        has_right |= !is_many;
        has_wrong |= is_many;
    }
    return has_right && has_wrong;
}

/* Every element is off by one factor. */
static bool is_scale(const evidence *of)
{
    int seen = 0;
    for (int i = 0; i < of->count; i++) {
        const opd_metrics *metrics = &of->findings[i].result.metrics[0];
        if (!is_wrong_value(of, i) || of->probes[i].kind != OPD_PROBE_PLAIN || metrics->finite < 8) {
            continue;
        }
        if (!(metrics->rel[OPD_P50] > 0 && metrics->max_rel < metrics->rel[OPD_P50] * 1.01)) {
            return false;
        }
        seen++;
    }
    return seen > 0;
}

static bool is_single(const evidence *of)
{
    int seen = 0;
    for (int i = 0; i < of->count; i++) {
        bool is_plain = of->probes[i].kind == OPD_PROBE_PLAIN || of->probes[i].kind == OPD_PROBE_SHAPE;
        if (!is_wrong_value(of, i) || !is_plain) {
            continue;
        }
        if (of->findings[i].result.observed.bad_count != 1 || of->findings[i].result.metrics[0].finite < 18) {
            return false;
        }
        seen++;
    }
    return seen > 0;
}

/* Errors of a shorter format than the accumulator's, never more, and only where terms are summed. */
static bool is_accumulation(const evidence *of)
{
    int seen = 0;
    for (int i = 0; i < of->count; i++) {
        bool is_usual = of->probes[i].kind == OPD_PROBE_PLAIN || of->probes[i].kind == OPD_PROBE_SHAPE ||
                        is_fill(&of->probes[i], "normal:0:");
        if (!is_wrong_value(of, i) || !is_usual) {
            continue;
        }
        if (!is_small_error(of, i)) {
            return false;
        }
        seen++;
    }
    return seen > 0 && has_sum(of);
}

static bool is_border(const evidence *of)
{
    if (!is_only(of, OPD_PROBE_ATTRIBUTE)) {
        return false;
    }
    for (int i = 0; i < of->count; i++) {
        if (is_failed(of, i) && strstr(of->probes[i].changed, "pad") == NULL) {
            return false;
        }
    }
    return true;
}

static const char *kind_of_values(const evidence *of)
{
    static const struct {
        bool (*holds)(const evidence *of);
        const char *kind;
    } patterns[] = {
        { is_border, "border" },
        { is_single, "single-element" },
        { is_scale, "scale" },
        { is_seam, "seam" },
        { is_batch, "batch" },
        { is_order, "order" },
        { is_accumulation, "accumulation" },
    };
    for (size_t i = 0; i < OPD_COUNT(patterns); i++) {
        if (patterns[i].holds(of)) {
            return patterns[i].kind;
        }
    }
    return "definition";
}

/* An operator whose plain calls make integers of large numbers. */
static bool is_integer_range(const evidence *of)
{
    for (int i = 0; i < of->count; i++) {
        bool is_large = of->probes[i].kind == OPD_PROBE_FILL || of->probes[i].kind == OPD_PROBE_ATTRIBUTE;
        if (is_failed(of, i) && !is_large) {
            return false;
        }
    }
    return is_integer_output(of);
}

const char *opd_detect_kind(const opd_op *op, const opd_probe_list *probes, const opd_finding *findings)
{
    evidence of = { .op = op, .probes = probes->items, .findings = findings, .count = probes->count };
    int failed = 0;
    for (int i = 0; i < of.count; i++) {
        of.failed[of.probes[i].kind] += is_failed(&of, i);
        failed += is_failed(&of, i);
    }
    if (failed == 0) {
        return NULL;
    }
    if (reads_unwritten(&of) && !has_failed(&of, OPD_PROBE_UNREAD)) {
        return "reads-unwritten";
    }
    const char *kind = is_alignment(&of) ? "alignment" : kind_of_memory(&of);
    kind = kind != NULL ? kind : kind_of_conduct(&of);
    kind = kind != NULL ? kind : kind_of_fill(&of);
    if (kind == NULL && is_integer_range(&of)) {
        kind = "integer-range";
    }
    return kind != NULL ? kind : kind_of_values(&of);
}
