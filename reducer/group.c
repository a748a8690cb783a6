// SPDX-License-Identifier: Apache-2.0
// Grouping by envelope key: outcome class, operator, dtype class, operand (of a broken contract: the argument), cause label. The key holds no size,
// precision, address or value, so that one bug met with three shapes or in float and double is one group; two bugs of one operator differ in operand,
// outcome or cause. Groups are built when they are asked for, from sorted members, so that the order of additions cannot matter.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/reduce.h>

typedef struct candidate {
    opd_group_member member;
    char key[256];
    char cause[384]; /* sentence of the diagnosis */
    char shape[128]; /* of the call */
    bool is_diagnosed;
    double size; /* elements of the call; NaN-free */
} candidate;

struct opd_grouping {
    candidate *candidates;
    size_t count, capacity;
    opd_group *groups;
    opd_group_member *members; /* of all groups, one block */
    uint32_t group_count;
    uint32_t requested; /* windows that somebody asked for: no failures */
    bool is_built;
};

opd_status opd_grouping_new(opd_grouping **out)
{
    return opd_alloc((void **)out, sizeof(**out));
}

static void drop_groups(opd_grouping *grouping)
{
    opd_free(grouping->groups);
    opd_free(grouping->members);
    grouping->groups = NULL;
    grouping->members = NULL;
    grouping->group_count = 0;
    grouping->is_built = false;
}

void opd_grouping_free(opd_grouping *grouping)
{
    if (grouping == NULL) {
        return;
    }
    drop_groups(grouping);
    opd_free(grouping->candidates);
    opd_free(grouping);
}

static const char *or_dash(const char *text)
{
    return text[0] == '\0' ? "-" : text;
}

/* Real and complex kernels are other code; the precisions of one kind mostly come from one source. */
static const char *class_of(opd_dtype dtype)
{
    if (dtype == OPD_DTYPE_NONE) {
        return "-";
    }
    return opd_dtype_is_complex(dtype) ? "complex" : opd_dtype_is_float(dtype) ? "real" : "integer";
}

/* Where a call that breaks its contract is wrong: each argument is a bug of its own, whatever the library then did. */
static void name_bad_argument(char name[OPD_NAME], const opd_call *call)
{
    opd_call copy = *call;
    char text[256];
    const opd_operand *overflow = NULL;
    if (copy.op != NULL && !opd_call_check(&copy, text, sizeof(text), &overflow)) {
        (void)opd_call_bad_name(name, &copy);
    }
}

static void describe(candidate *out, const opd_failure *failure, const opd_call *call)
{
    opd_failure diagnosed = *failure;
    bool has_label = failure->label[0] != '\0';
    if (!has_label && call != NULL) {
        opd_diagnose(&diagnosed, call, NULL, NULL);
    }
    char argument[OPD_NAME] = "";
    if (call != NULL && strcmp(diagnosed.label, "bad-args") == 0) {
        name_bad_argument(argument, call);
    }
    const char *operand = argument[0] != '\0' ? argument : failure->operand;
    const char *op = call == NULL ? "" : call->op != NULL ? call->op->name : call->name;
    out->is_diagnosed = !has_label;
    snprintf(out->cause, sizeof(out->cause), "%s", diagnosed.reason);
    snprintf(out->key, sizeof(out->key), "%s|%.31s|%s|%.31s|%s", opd_outcome_name(failure->outcome), or_dash(op),
             call == NULL ? "-" : class_of(call->dtype), or_dash(operand), or_dash(diagnosed.label));
    out->size = 0;
    for (int i = 0; call != NULL && i < call->operand_count; i++) {
        out->size += (double)opd_tensor_count(&call->operands[i].view);
    }
    if (call != NULL) {
        opd_call_describe(out->shape, sizeof(out->shape), call);
    } else {
        snprintf(out->shape, sizeof(out->shape), "no call in flight");
    }
}

static opd_status find_call(opd_call *out, bool *is_found, const opd_bundle *bundle, const opd_failure *failure)
{
    uint64_t position = 0;
    *is_found = false;
    if (failure->call_number == 0) {
        return OPD_OK;
    }
    opd_status status = opd_bundle_find_call(&position, bundle, failure->thread, failure->call_number);
    if (status == OPD_E_NOTFOUND) {
        return OPD_OK;
    }
    if (status == OPD_OK) {
        status = opd_bundle_call(out, bundle, position);
        *is_found = status == OPD_OK;
    }
    return status;
}

opd_status opd_grouping_add(opd_grouping *grouping, const opd_bundle *bundle)
{
    drop_groups(grouping);
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        opd_call call;
        bool has_call = false;
        const opd_failure *failure = opd_bundle_failure(bundle, i);
        if (failure->outcome == OPD_OUTCOME_REQUESTED) {
            grouping->requested++;
            continue;
        }
        opd_status status = find_call(&call, &has_call, bundle, failure);
        if (status == OPD_OK && grouping->count == grouping->capacity) {
            size_t wanted = grouping->capacity == 0 ? 16 : grouping->capacity * 2;
            status = opd_grow((void **)&grouping->candidates, wanted, sizeof(candidate));
            grouping->capacity = status == OPD_OK ? wanted : grouping->capacity;
        }
        if (status != OPD_OK) {
            return status;
        }
        candidate *added = &grouping->candidates[grouping->count++];
        memset(added, 0, sizeof(*added));
        snprintf(added->member.path, sizeof(added->member.path), "%s", opd_bundle_path(bundle));
        added->member.failure = i;
        describe(added, failure, has_call ? &call : NULL);
    }
    return OPD_OK;
}

uint32_t opd_grouping_requested(const opd_grouping *grouping)
{
    return grouping->requested;
}

static int by_key_then_name(const void *a, const void *b)
{
    const candidate *x = a;
    const candidate *y = b;
    int order = strcmp(x->key, y->key);
    order = order != 0 ? order : strcmp(x->member.path, y->member.path);
    return order != 0 ? order : (x->member.failure > y->member.failure) - (x->member.failure < y->member.failure);
}

static int by_count_then_id(const void *a, const void *b)
{
    const opd_group *x = a;
    const opd_group *y = b;
    int order = (x->count < y->count) - (x->count > y->count);
    return order != 0 ? order : strcmp(x->id, y->id);
}

/* FNV-1a, 64 bits: part of the stable id, so it must never change. source: Fowler, Noll, Vo; RFC draft constants. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    }
    return hash;
}

static void fill_group(opd_group *group, opd_group_member *members, const candidate *first, uint32_t count)
{
    memset(group, 0, sizeof(*group));
    group->members = members;
    group->count = count;
    snprintf(group->key, sizeof(group->key), "%s", first->key);
    snprintf(group->id, sizeof(group->id), "%016" PRIx64, hash_text(first->key));
    for (uint32_t i = 0; i < count; i++) {
        if (first[i].size < first[group->representative].size) {
            group->representative = i;
        }
        members[i] = first[i].member;
        const char *label = strrchr(first[i].key, '|') + 1;
        if (strcmp(label, "-") == 0) {
            snprintf(members[i].why, sizeof(members[i].why),
                     "same outcome, operator, class of type and operand; no rule names the cause");
        } else {
            snprintf(members[i].why, sizeof(members[i].why),
                     "same outcome, operator, class of type and %s; cause %s %s",
                     strcmp(label, "bad-args") == 0 ? "argument" : "operand", label,
                     first[i].is_diagnosed ? "found by rule" : "stands in its bundle");
        }
    }
    const candidate *smallest = &first[group->representative];
    snprintf(group->reason, sizeof(group->reason), "%s",
             smallest->cause[0] != '\0' ? smallest->cause : smallest->shape);
}

static opd_status build(opd_grouping *grouping)
{
    if (grouping->is_built || grouping->count == 0) {
        return OPD_OK;
    }
    opd_status status = opd_alloc_array((void **)&grouping->groups, grouping->count, sizeof(opd_group));
    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&grouping->members, grouping->count, sizeof(opd_group_member));
    }
    if (status != OPD_OK) {
        drop_groups(grouping);
        return status;
    }
    qsort(grouping->candidates, grouping->count, sizeof(candidate), by_key_then_name);
    for (size_t i = 0; i < grouping->count;) {
        size_t end = i + 1;
        while (end < grouping->count && strcmp(grouping->candidates[i].key, grouping->candidates[end].key) == 0) {
            end++;
        }
        fill_group(&grouping->groups[grouping->group_count++], &grouping->members[i], &grouping->candidates[i],
                   (uint32_t)(end - i));
        i = end;
    }
    qsort(grouping->groups, grouping->group_count, sizeof(opd_group), by_count_then_id);
    grouping->is_built = true;
    return OPD_OK;
}

uint32_t opd_grouping_count(opd_grouping *grouping)
{
    return build(grouping) == OPD_OK ? grouping->group_count : 0;
}

const opd_group *opd_grouping_at(opd_grouping *grouping, uint32_t index)
{
    return build(grouping) == OPD_OK && index < grouping->group_count ? &grouping->groups[index] : NULL;
}
