/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrows between calls: from the call that last produced some content (by digest) to each call that then reads it. The
 * outputs of all calls are gathered while the scene is read and sorted by digest and time; a second pass looks every input up.
 */
#include <stdlib.h>
#include <string.h>

#include "scene.h"

#define MAX_TRIES 64

/* Half of the digest is enough to draw an arrow. */
typedef struct opd_scene_output {
    uint64_t content;
    uint64_t begin_ns, end_ns;
    uint32_t position;
} opd_scene_output;

typedef struct flow_list {
    opd_scene_flow *items;
    size_t count;
    size_t capacity;
} flow_list;

static uint64_t content_of(const opd_digest *digest)
{
    uint64_t content = 0;

    memcpy(&content, digest->bytes, sizeof(content));
    return content;
}

/* Content, then end, then position. */
static int compare_outputs(const void *left, const void *right)
{
    const opd_scene_output *a = left;
    const opd_scene_output *b = right;

    if (a->content != b->content) {
        return a->content < b->content ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return a->position < b->position ? -1 : a->position > b->position;
}

static int compare_flows(const void *left, const void *right)
{
    const opd_scene_flow *a = left;
    const opd_scene_flow *b = right;

    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static opd_status make_room(void **items, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity) {
        return OPD_OK;
    }
    size_t wanted = *capacity == 0 ? 256 : *capacity * 2;
    opd_status status = opd_grow(items, wanted, size);
    if (status == OPD_OK) {
        *capacity = wanted;
    }
    return status;
}

opd_status opd_scene_gather(opd_scene_outputs *outputs, const opd_call *call, uint32_t position)
{
    if ((call->flags & OPD_CALL_IN_FLIGHT) != 0 || call->end_ns < call->begin_ns) {
        return OPD_OK;
    }
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if ((operand->role & OPD_ROLE_OUT) == 0 || opd_digest_is_none(&operand->after)) {
            continue;
        }
        void *items = outputs->items;
        opd_status status = make_room(&items, &outputs->capacity, outputs->count, sizeof(*outputs->items));
        if (status != OPD_OK) {
            return status;
        }
        outputs->items = items;
        outputs->items[outputs->count++] = (opd_scene_output){ .content = content_of(&operand->after),
                                                               .begin_ns = call->begin_ns,
                                                               .end_ns = call->end_ns,
                                                               .position = position };
    }
    return OPD_OK;
}

/*
 * The last output of content that was complete when call began. A viewer links by the times of the begins, so the producer's
 * must be earlier; MAX_TRIES bounds the search among calls of no length.
 */
static const opd_scene_output *find_producer(const opd_scene_outputs *outputs, uint64_t content, uint64_t begin_ns)
{
    size_t low = 0;
    size_t high = outputs->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const opd_scene_output *item = &outputs->items[middle];
        if (item->content < content || (item->content == content && item->end_ns <= begin_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (int tries = 0; tries < MAX_TRIES && low > 0 && outputs->items[low - 1].content == content; tries++) {
        low--;
        if (outputs->items[low].begin_ns < begin_ns) {
            return &outputs->items[low];
        }
    }
    return NULL;
}

/* producers holds the first count producers of a call; adds one and says whether it is new. */
static bool add_producer(uint32_t *producers, int *count, uint32_t producer)
{
    for (int i = 0; i < *count; i++) {
        if (producers[i] == producer) {
            return false;
        }
    }
    producers[(*count)++] = producer;
    return true;
}

/* departures counts the arrows of each producer so far. */
static opd_status add_arrivals(flow_list *flows, opd_scene *scene, const opd_scene_outputs *outputs,
                               uint8_t *departures, const opd_call *call, uint32_t position)
{
    uint32_t producers[OPD_MAX_OPERANDS];
    int count = 0;

    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if ((operand->role & OPD_ROLE_IN) == 0 || opd_digest_is_none(&operand->before)) {
            continue;
        }
        const opd_scene_output *producer = find_producer(outputs, content_of(&operand->before), call->begin_ns);
        if (producer == NULL || !add_producer(producers, &count, producer->position)) {
            continue;
        }
        if (departures[producer->position] == OPD_FLOWS_OUT) {
            scene->flows_cut++;
            continue;
        }
        void *items = flows->items;
        opd_status status = make_room(&items, &flows->capacity, flows->count, sizeof(*flows->items));
        if (status != OPD_OK) {
            return status;
        }
        flows->items = items;
        departures[producer->position]++;
        uint64_t id = (uint64_t)position * OPD_MAX_OPERANDS + 1 + scene->arrivals[position]++;
        flows->items[flows->count++] = (opd_scene_flow){ .id = id, .from = producer->position };
    }
    return OPD_OK;
}

opd_status opd_scene_flows(opd_scene *scene, opd_scene_outputs *outputs)
{
    flow_list flows = { NULL, 0, 0 };
    void *departures = NULL;
    void *call = NULL;
    void *arrivals = NULL;

    opd_status status = opd_alloc(&arrivals, scene->call_count);
    if (status != OPD_OK || outputs->count == 0) {
        goto out;
    }
    status = opd_alloc(&departures, scene->call_count);
    if (status != OPD_OK) {
        goto out;
    }
    status = opd_alloc(&call, sizeof(opd_call));
    if (status != OPD_OK) {
        goto out;
    }
    scene->arrivals = arrivals;
    qsort(outputs->items, outputs->count, sizeof(*outputs->items), compare_outputs);
    for (uint32_t i = 0; i < scene->call_count && status == OPD_OK; i++) {
        status = opd_bundle_call(call, scene->bundle, i);
        if (status == OPD_OK) {
            status = add_arrivals(&flows, scene, outputs, departures, call, i);
        }
    }
    if (status == OPD_OK && flows.count > 0) {
        qsort(flows.items, flows.count, sizeof(*flows.items), compare_flows);
    }
out:
    scene->arrivals = arrivals;
    scene->flows = flows.items;
    scene->flow_count = (uint32_t)flows.count;
    opd_free(departures);
    opd_free(call);
    return status;
}

int opd_scene_departures(uint64_t ids[OPD_FLOWS_OUT], const opd_scene *scene, uint32_t position)
{
    uint32_t low = 0;
    uint32_t high = scene->flow_count;
    int count = 0;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (scene->flows[middle].from < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low < scene->flow_count && scene->flows[low].from == position && count < OPD_FLOWS_OUT) {
        ids[count++] = scene->flows[low++].id;
    }
    return count;
}

int opd_scene_arrivals(uint64_t ids[OPD_MAX_OPERANDS], const opd_scene *scene, uint32_t position)
{
    for (int i = 0; i < scene->arrivals[position]; i++) {
        ids[i] = (uint64_t)position * OPD_MAX_OPERANDS + 1 + (uint64_t)i;
    }
    return scene->arrivals[position];
}
