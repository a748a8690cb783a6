/* SPDX-License-Identifier: Apache-2.0 */
/* Freezing the window. Used by the recorded process and, for time limits and requests, by the collector. */
#ifndef OPD_TRIGGER_H
#define OPD_TRIGGER_H

#include "chunks.h"
#include "session.h"

/* The trigger bit that asks for an outcome; OPD_TRIGGER_API for requests. */
uint32_t opd_trigger_bit(uint32_t outcome);

/*
 * Freezes the window for *trigger. false: not asked for, or counted only, because another window is being written or
 * max_bundles is reached. The caller then wakes the collector.
 */
bool opd_trigger_fire(const opd_control *control, opd_process *process, const opd_shared_trigger *trigger);

/* The collector has what it wanted: rings and arena are free again. */
void opd_trigger_thaw(opd_process *process);

#endif
