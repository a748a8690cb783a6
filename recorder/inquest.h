/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's side of a crash: what the process left in its wreck, unwound and put in words. */
#ifndef OPD_INQUEST_H
#define OPD_INQUEST_H

#include "collector.h"
#include "wreck.h"

typedef struct opd_wrecked_thread {
    opd_wreck_thread thread;
    const uint8_t *stack; /* in the wreck's bytes */
    uint64_t stack_bytes;
} opd_wrecked_thread;

typedef struct opd_wrecked_range {
    uint64_t start, end, offset;
    bool is_code;
    uint32_t object; /* index + 1 in the wreck's objects; 0 = none */
} opd_wrecked_range;

/* A file that was mapped. */
typedef struct opd_wrecked_object {
    char path[512];
    uint64_t start, end; /* start: where its first byte lies */
} opd_wrecked_object;

typedef struct opd_wreck {
    uint8_t *bytes;
    size_t size;
    opd_wreck_head head;
    opd_wrecked_thread threads[OPD_WRECK_THREADS + 1]; /* the one that crashed first */
    uint32_t thread_count;
    opd_wrecked_range *mappings;
    size_t mapping_count;
    opd_wrecked_object *objects;
    size_t object_count;
} opd_wreck;

/* Reads the wreck beside a process file. errors: E_NOTFOUND there is none, E_FORMAT, E_NOMEM. */
opd_status opd_wreck_read(opd_wreck **out, const char *process_path);
void opd_wreck_free(opd_wreck *wreck);
/* Removes it from the session. */
void opd_wreck_remove(const char *process_path);

/* The mapping that holds an address; NULL = none. */
const opd_wrecked_range *opd_wreck_mapping(const opd_wreck *wreck, uint64_t address);

/* The word at an address in the kept part of a thread's stack. */
bool opd_wreck_word(uint64_t *word, const opd_wrecked_thread *thread, uint64_t address);

/* Does a thread stand in code between two addresses, or anything on its stack look as if it had come from there? */
bool opd_wreck_is_inside(const opd_wrecked_thread *thread, uint64_t start, uint64_t end);

#define OPD_FRAMES 96u
/* Unwinds all threads of a wreck; frame.module is an index + 1 into its objects. */
typedef struct opd_unwinder opd_unwinder;
opd_status opd_unwinder_open(opd_unwinder **out, const opd_wreck *wreck);
uint32_t opd_unwind(opd_frame frames[OPD_FRAMES], bool *is_cut, opd_unwinder *unwinder,
                    const opd_wrecked_thread *thread);
void opd_unwinder_close(opd_unwinder *unwinder);

/* What the head of a wreck says, and where its address lies with regard to the operands of the call that is blamed. */
void opd_inquest_begin(opd_crash_info *info, const opd_wreck *wreck);
void opd_inquest_place(opd_crash_info *info, const opd_call *call);
/* ", 8 bytes past the end of A (write)"; "" = nothing to say. */
void opd_inquest_say(char *text, size_t size, const opd_crash_info *info, const opd_failure *failure);
/* Place, symbol and reason of a crash that did not end the process. */
void opd_inquest_survived(opd_failure *failure, const opd_crash_info *info, const opd_shared_trigger *trigger,
                          opd_watched *watched);
/* Modules, stacks and what else is known. errors: those of the writer. */
opd_status opd_inquest_put(opd_writer *writer, const opd_crash_info *info, const opd_wreck *wreck, opd_watched *watched,
                           opd_ring_record *scratch);

/* Index tuple of the element that holds a byte, counted from the lowest of a view; see opd_window_locate. */
void opd_window_index(int64_t index[OPD_MAX_RANK], const opd_tensor *view, int64_t offset);

#endif
