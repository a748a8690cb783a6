/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a bundle holds, as far as drawing must know all of it at once: the times of every call by thread, threads and
 * processes, the end of the trace, and which call's output another call read. Everything else is fetched call by call.
 */
#ifndef OPD_VIEWER_EXPORT_SCENE_H
#define OPD_VIEWER_EXPORT_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/bundle.h>

typedef struct opd_scene_call {
    uint64_t begin_ns, end_ns; /* an unfinished call ends with the trace */
    uint64_t number;           /* in its thread: of equal times the smaller is the outer one */
    uint32_t pid, tid;
    uint32_t position; /* in the bundle */
    bool is_unfinished;
} opd_scene_call;

typedef struct opd_scene_thread {
    uint32_t pid, tid;
    const char *name;      /* "" = none; borrowed from the bundle */
    uint32_t first, count; /* its calls */
    uint32_t process;
    uint64_t track; /* set by whoever declares it */
} opd_scene_thread;

typedef struct opd_scene_process {
    uint32_t pid;
    uint64_t track;
} opd_scene_process;

/* An arrow to a call. Its id is position * OPD_MAX_OPERANDS + 1 + its number among that call's arrows. */
typedef struct opd_scene_flow {
    uint64_t id;
    uint32_t from; /* position of the producer */
} opd_scene_flow;

typedef struct opd_scene_failure {
    uint32_t position; /* of its call */
    uint32_t failure;
} opd_scene_failure;

typedef struct opd_scene {
    const opd_bundle *bundle;
    opd_scene_call *calls; /* by pid, tid, number, position */
    uint32_t call_count;
    opd_scene_thread *threads; /* by pid, tid */
    uint32_t thread_count;
    opd_scene_process *processes; /* by pid; at least one */
    uint32_t process_count;
    uint32_t *threads_by_tid;
    uint64_t begin_ns, end_ns;
    uint64_t unfinished;   /* calls */
    opd_scene_flow *flows; /* by producer */
    uint32_t flow_count;
    uint64_t flows_cut;
    uint8_t *arrivals;           /* arrows to the call at a position */
    opd_scene_failure *failures; /* those of known calls, by position */
    uint32_t failure_count;
} opd_scene;

opd_status opd_scene_read(opd_scene *out, const opd_bundle *bundle);
void opd_scene_done(opd_scene *scene);

/* The thread of a tid alone, as events and failures name it; NULL when no call, name or process knows it. */
opd_scene_thread *opd_scene_thread_of(const opd_scene *scene, uint32_t tid);
/* Index of the process of tid; the first one when tid is unknown. */
uint32_t opd_scene_process_of(const opd_scene *scene, uint32_t tid);

/* What an event is to the ranges of its thread. */
typedef enum opd_edge_kind { OPD_EDGE_NONE, OPD_EDGE_PUSH, OPD_EDGE_POP } opd_edge_kind;
opd_edge_kind opd_event_edge(const opd_event *event);

/* The first failure of the call at position; NULL when it has none. */
const opd_failure *opd_scene_failure_of(const opd_scene *scene, uint32_t position);

/* The outputs of all calls, gathered while they are read, for opd_scene_flows. */
typedef struct opd_scene_outputs {
    struct opd_scene_output *items;
    size_t count;
    size_t capacity;
} opd_scene_outputs;
opd_status opd_scene_gather(opd_scene_outputs *outputs, const opd_call *call, uint32_t position);

/* Finds the arrows; needs calls, call_count and bundle. Sorts outputs. */
opd_status opd_scene_flows(opd_scene *scene, opd_scene_outputs *outputs);
/* The arrows that leave the call at position: at most OPD_FLOWS_OUT. */
#define OPD_FLOWS_OUT 32
int opd_scene_departures(uint64_t ids[OPD_FLOWS_OUT], const opd_scene *scene, uint32_t position);
int opd_scene_arrivals(uint64_t ids[OPD_MAX_OPERANDS], const opd_scene *scene, uint32_t position);

#endif
