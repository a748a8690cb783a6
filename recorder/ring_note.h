/* SPDX-License-Identifier: Apache-2.0 */
/* Events in the ring. */
#ifndef OPD_RING_NOTE_H
#define OPD_RING_NOTE_H

#include "here.h"

/* An event of the calling thread, whose slot is marked busy; without room it is dropped and counted. */
void opd_note_put(opd_slot *slot, const char *kind, const char *name, int64_t value);

#endif
