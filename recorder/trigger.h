/* SPDX-License-Identifier: Apache-2.0 */
/* Freezing the window. Used by the recorded process and, for time limits and requests, by the collector. */
#ifndef OPD_TRIGGER_H
#define OPD_TRIGGER_H

#include "chunks.h"
#include "session.h"

/* The trigger bit that asks for an outcome; OPD_TRIGGER_API for requests. */
uint32_t opd_trigger_bit(uint32_t outcome);

/* Freezes the window for *trigger, whatever has been written before; false: it is frozen already. */
bool opd_trigger_freeze(opd_process *process, const opd_shared_trigger *trigger);

/*
 * How many of a process's bundles there may be so far for another: a failure whose kind has one already leaves the last quarter of
 * max_bundles to kinds that come later.
 */
#define OPD_ROOM_FOR_NEW 4u
uint32_t opd_trigger_room(const opd_control *control, bool is_repeat);

/*
 * Freezes the window for *trigger; while one is frozen, *trigger waits in a queue for its bundle from the same window.
 * false: counted only, because the queue is full, there is no room (opd_trigger_room), or there are bundles enough of this kind of failure for now;
 * it takes nothing of the caps then. After true the caller wakes the collector.
 */
bool opd_trigger_fire(const opd_control *control, opd_process *process, const opd_shared_trigger *trigger);

/* The next trigger to write, oldest first; the window is frozen then. false: there is none. The collector's. */
bool opd_trigger_take(opd_shared_trigger *out, opd_process *process);

/* The collector has what it wanted: rings and arena are free again. */
void opd_trigger_thaw(opd_process *process);

#endif
