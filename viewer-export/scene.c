/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of the scene: one pass over the calls in file order, then sorting by thread. Threads are those of the calls and
 * those the bundle names.
 */
#include <stdlib.h>
#include <string.h>

#include "scene.h"

#define MAX_CALLS (UINT32_C(1) << 31)

static int compare_threads(uint32_t pid_a, uint32_t tid_a, uint32_t pid_b, uint32_t tid_b)
{
    if (pid_a != pid_b) {
        return pid_a < pid_b ? -1 : 1;
    }
    return tid_a < tid_b ? -1 : tid_a > tid_b;
}

static int compare_calls(const void *left, const void *right)
{
    const opd_scene_call *a = left;
    const opd_scene_call *b = right;

    int order = compare_threads(a->pid, a->tid, b->pid, b->tid);
    if (order != 0) {
        return order;
    }
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return a->position < b->position ? -1 : a->position > b->position;
}

/* Of one thread the entry with a name comes first. */
static int compare_named(const void *left, const void *right)
{
    const opd_scene_thread *a = left;
    const opd_scene_thread *b = right;

    int order = compare_threads(a->pid, a->tid, b->pid, b->tid);
    return order != 0 ? order : (a->name[0] == '\0') - (b->name[0] == '\0');
}

static int compare_tids(const void *left, const void *right, void *context)
{
    const opd_scene_thread *threads = context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    if (threads[a].tid != threads[b].tid) {
        return threads[a].tid < threads[b].tid ? -1 : 1;
    }
    return a < b ? -1 : a > b;
}

static void stretch(opd_scene *scene, uint64_t time_ns)
{
    if (time_ns == 0) {
        return;
    }
    if (scene->begin_ns == 0 || time_ns < scene->begin_ns) {
        scene->begin_ns = time_ns;
    }
    if (time_ns > scene->end_ns) {
        scene->end_ns = time_ns;
    }
}

static opd_status read_calls(opd_scene *scene, opd_scene_outputs *outputs)
{
    uint64_t count = opd_bundle_call_count(scene->bundle);
    void *memory = NULL;

    if (count > MAX_CALLS) {
        return opd_fail(OPD_E_LIMIT, "%llu calls are over the limit of 2^31", (unsigned long long)count);
    }
    opd_status status = opd_alloc_array(&memory, (size_t)count, sizeof(opd_scene_call));
    if (status != OPD_OK) {
        return status;
    }
    scene->calls = memory;
    status = opd_alloc(&memory, sizeof(opd_call));
    if (status != OPD_OK) {
        return status;
    }
    opd_call *call = memory;
    for (uint32_t position = 0; position < count && status == OPD_OK; position++) {
        status = opd_bundle_call(call, scene->bundle, position);
        if (status == OPD_OK) {
            bool is_unfinished = (call->flags & OPD_CALL_IN_FLIGHT) != 0 || call->end_ns < call->begin_ns;
            scene->calls[position] = (opd_scene_call){ .begin_ns = call->begin_ns,
                                                       .end_ns = call->end_ns,
                                                       .number = call->number,
                                                       .pid = call->pid,
                                                       .tid = call->thread,
                                                       .position = position,
                                                       .is_unfinished = is_unfinished };
            stretch(scene, call->begin_ns);
            stretch(scene, call->end_ns);
            scene->unfinished += is_unfinished;
            status = opd_scene_gather(outputs, call, position);
        }
    }
    scene->call_count = (uint32_t)count;
    opd_free(call);
    return status;
}

static void end_unfinished(opd_scene *scene)
{
    for (uint32_t i = 0; i < opd_bundle_event_count(scene->bundle); i++) {
        stretch(scene, opd_bundle_event(scene->bundle, i)->time_ns);
    }
    for (uint32_t i = 0; i < opd_bundle_failure_count(scene->bundle); i++) {
        stretch(scene, opd_bundle_failure(scene->bundle, i)->time_ns);
    }
    for (uint32_t i = 0; i < scene->call_count; i++) {
        if (scene->calls[i].is_unfinished) {
            scene->calls[i].end_ns = scene->end_ns;
        }
    }
}

/* One entry per run of calls of one thread. With threads NULL it only counts. */
static uint32_t threads_of_calls(opd_scene_thread *threads, const opd_scene *scene)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < scene->call_count; i++) {
        const opd_scene_call *call = &scene->calls[i];
        bool is_new = i == 0 || call[-1].pid != call->pid || call[-1].tid != call->tid;
        if (is_new && threads != NULL) {
            threads[count] = (opd_scene_thread){ .pid = call->pid, .tid = call->tid, .name = "" };
        }
        count += is_new;
    }
    return count;
}

/* Merges the entries of one thread and finds its calls: both are sorted alike. */
static void settle_threads(opd_scene *scene, uint32_t entries)
{
    uint32_t next = 0;

    scene->thread_count = 0;
    for (uint32_t i = 0; i < entries; i++) {
        opd_scene_thread thread = scene->threads[i];
        opd_scene_thread *last = scene->thread_count > 0 ? &scene->threads[scene->thread_count - 1] : NULL;
        if (last != NULL && last->pid == thread.pid && last->tid == thread.tid) {
            continue;
        }
        thread.first = next;
        while (next < scene->call_count && scene->calls[next].pid == thread.pid &&
               scene->calls[next].tid == thread.tid) {
            next++;
        }
        thread.count = next - thread.first;
        scene->threads[scene->thread_count++] = thread;
    }
}

static opd_status read_threads(opd_scene *scene)
{
    uint32_t named = opd_bundle_thread_count(scene->bundle);
    uint32_t seen = threads_of_calls(NULL, scene);
    void *memory = NULL;

    opd_status status = opd_alloc_array(&memory, (size_t)named + seen, sizeof(opd_scene_thread));
    if (status != OPD_OK) {
        return status;
    }
    scene->threads = memory;
    threads_of_calls(scene->threads, scene);
    for (uint32_t i = 0; i < named; i++) {
        opd_scene_thread *thread = &scene->threads[seen + i];
        const char *name = opd_bundle_thread(scene->bundle, i, &thread->pid, &thread->tid);
        thread->name = name != NULL ? name : "";
    }
    qsort(scene->threads, (size_t)named + seen, sizeof(*scene->threads), compare_named);
    settle_threads(scene, named + seen);

    status = opd_alloc_array(&memory, scene->thread_count, sizeof(uint32_t));
    if (status != OPD_OK) {
        return status;
    }
    scene->threads_by_tid = memory;
    for (uint32_t i = 0; i < scene->thread_count; i++) {
        scene->threads_by_tid[i] = i;
    }
    qsort_r(scene->threads_by_tid, scene->thread_count, sizeof(uint32_t), compare_tids, scene->threads);
    return OPD_OK;
}

/* The processes of the threads; without threads the one the bundle is about. */
static opd_status read_processes(opd_scene *scene)
{
    void *memory = NULL;

    opd_status status = opd_alloc_array(&memory, (size_t)scene->thread_count + 1, sizeof(opd_scene_process));
    if (status != OPD_OK) {
        return status;
    }
    scene->processes = memory;
    for (uint32_t i = 0; i < scene->thread_count; i++) {
        opd_scene_thread *thread = &scene->threads[i];
        if (i == 0 || thread[-1].pid != thread->pid) {
            scene->processes[scene->process_count++].pid = thread->pid;
        }
        thread->process = scene->process_count - 1;
    }
    if (scene->process_count == 0) {
        scene->processes[scene->process_count++].pid = opd_bundle_header(scene->bundle)->pid;
    }
    return OPD_OK;
}

static int compare_failures(const void *left, const void *right)
{
    const opd_scene_failure *a = left;
    const opd_scene_failure *b = right;

    if (a->position != b->position) {
        return a->position < b->position ? -1 : 1;
    }
    return a->failure < b->failure ? -1 : a->failure > b->failure;
}

static opd_status read_failures(opd_scene *scene)
{
    uint32_t count = opd_bundle_failure_count(scene->bundle);
    void *memory = NULL;

    opd_status status = opd_alloc_array(&memory, count, sizeof(*scene->failures));
    if (status != OPD_OK) {
        return status;
    }
    scene->failures = memory;
    for (uint32_t i = 0; i < count; i++) {
        const opd_failure *failure = opd_bundle_failure(scene->bundle, i);
        uint64_t position = 0;
        if (failure->call_number != 0 &&
            opd_bundle_find_call(&position, scene->bundle, failure->thread, failure->call_number) == OPD_OK) {
            scene->failures[scene->failure_count++] =
                (opd_scene_failure){ .position = (uint32_t)position, .failure = i };
        }
    }
    qsort(scene->failures, scene->failure_count, sizeof(*scene->failures), compare_failures);
    return OPD_OK;
}

opd_status opd_scene_read(opd_scene *out, const opd_bundle *bundle)
{
    opd_scene scene = { .bundle = bundle };
    opd_scene_outputs outputs = { NULL, 0, 0 };

    opd_status status = read_calls(&scene, &outputs);
    if (status != OPD_OK) {
        goto out;
    }
    end_unfinished(&scene);
    if (scene.call_count > 0) {
        qsort(scene.calls, scene.call_count, sizeof(*scene.calls), compare_calls);
    }
    status = read_threads(&scene);
    if (status != OPD_OK) {
        goto out;
    }
    status = read_processes(&scene);
    if (status != OPD_OK) {
        goto out;
    }
    status = read_failures(&scene);
    if (status != OPD_OK) {
        goto out;
    }
    status = opd_scene_flows(&scene, &outputs);
out:
    opd_free(outputs.items);
    if (status != OPD_OK) {
        opd_scene_done(&scene);
        return status;
    }
    *out = scene;
    return OPD_OK;
}

void opd_scene_done(opd_scene *scene)
{
    opd_free(scene->calls);
    opd_free(scene->threads);
    opd_free(scene->threads_by_tid);
    opd_free(scene->processes);
    opd_free(scene->flows);
    opd_free(scene->arrivals);
    opd_free(scene->failures);
    memset(scene, 0, sizeof(*scene));
}

opd_scene_thread *opd_scene_thread_of(const opd_scene *scene, uint32_t tid)
{
    uint32_t low = 0;
    uint32_t high = scene->thread_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (scene->threads[scene->threads_by_tid[middle]].tid < tid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == scene->thread_count || scene->threads[scene->threads_by_tid[low]].tid != tid) {
        return NULL;
    }
    return &scene->threads[scene->threads_by_tid[low]];
}

uint32_t opd_scene_process_of(const opd_scene *scene, uint32_t tid)
{
    const opd_scene_thread *thread = opd_scene_thread_of(scene, tid);

    return thread != NULL ? thread->process : 0;
}

opd_edge_kind opd_event_edge(const opd_event *event)
{
    if (strcmp(event->kind, "range-push") == 0) {
        return OPD_EDGE_PUSH;
    }
    return strcmp(event->kind, "range-pop") == 0 ? OPD_EDGE_POP : OPD_EDGE_NONE;
}

const opd_failure *opd_scene_failure_of(const opd_scene *scene, uint32_t position)
{
    uint32_t low = 0;
    uint32_t high = scene->failure_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (scene->failures[middle].position < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == scene->failure_count || scene->failures[low].position != position) {
        return NULL;
    }
    return opd_bundle_failure(scene->bundle, scene->failures[low].failure);
}
