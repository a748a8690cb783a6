/* SPDX-License-Identifier: Apache-2.0 */
/* The C API as a table, by which an object that does not record itself passes its calls on to the preloaded one. */
#ifndef OPD_API_H
#define OPD_API_H

#include <opsdebug/record.h>

#include "here.h"

typedef struct opd_record_api {
    uint64_t bytes; /* sizeof(opd_record_api): objects of two builds do not meet */
    opd_status (*start)(const char *out);
    void (*stop)(void);
    uint64_t (*begin)(const opd_call *call);
    void (*end)(uint64_t token, const opd_call *call, int status);
    void (*range_push)(const char *name);
    void (*range_pop)(void);
    void (*mark)(const char *name, int64_t value);
    void (*seed)(uint64_t seed);
    void (*trigger)(const char *reason);
    uint32_t (*form)(const opd_call *call);
    uint64_t (*begin_as)(uint32_t form, opd_call *call, const uint64_t *words);
    void (*end_as)(uint64_t token, uint32_t form, opd_call *call, const uint64_t *words, int status);
    void (*note_as)(uint32_t form, opd_call *call, const uint64_t *words);
    uint32_t (*provider)(const void *address, int32_t threads);
    void (*recipe)(const char *operand, const opd_fill *fill);
    void (*generator)(const char *name, uint64_t seed);
    bool (*watch)(const char *name, const void *address, uint32_t bytes);
    void (*point)(const char *name, opd_dtype dtype, const void *data, int64_t count);
} opd_record_api;

/* NULL: this object records. Set at load. */
extern const opd_record_api *opd_api_other;

/* Of the preloaded object only. */
OPD_PUBLIC extern const opd_record_api opd_preload_api;

/* ------------------------------------------------------------------------ between the files of the C API */

/* The slot of the calling thread, marked busy with the function of that frame; NULL: nothing is recorded. */
opd_slot *opd_api_enter(const void *frame);
void opd_api_leave(opd_slot *slot);

/* Counts that fit the arrays? */
bool opd_api_is_plausible(const opd_call *call);

/* Fixed words of a record that has operands and whose argument words follow. */
void opd_api_head(opd_slot *slot, uint64_t at, uint32_t size, opd_record_kind kind, uint32_t words, uint32_t operands);

#define OPD_EVENT_NAME 96 /* bytes of an event's name */
void opd_api_event(const char *kind, const char *name, int64_t value);

/* Enters as opd_api_enter does. The open call of a token, what is open inside it given up; NULL: it is none of this thread, which is left. */
opd_open_call *opd_api_open(opd_slot **out, uint64_t token, const void *frame);

/* Begins a call whose slot is entered, with a record of its own that says all; leaves the slot. frame: as opd_open_call has it. */
uint64_t opd_api_begin(opd_slot *slot, const opd_call *call, uint64_t frame);

/* Completes the record at position of an open call that has ended, and closes it; leaves the slot. */
void opd_api_complete(opd_slot *slot, opd_open_call *open, const opd_call *call, int status, uint64_t now);

#endif
