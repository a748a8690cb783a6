/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a crashing process leaves beside its process file, as PID.K.wreck: registers and stack of every thread, the map of its
 * memory, its limits. Raw parts one after the other; the collector unwinds them, so that nothing is unwound where all may be broken.
 */
#ifndef OPD_WRECK_H
#define OPD_WRECK_H

#include <stdint.h>

#include <opsdebug/bundle.h>

#include "crash.h"
#include "standing.h"

#define OPD_WRECK_MAGIC   UINT64_C(0x4b434552574f504f)
#define OPD_WRECK_SUFFIX  ".wreck"
#define OPD_WRECK_THREADS 256u
#define OPD_WRECK_STACK   (UINT64_C(64) << 10)  /* bytes kept of a thread's stack */
#define OPD_WRECK_CRASHED (UINT64_C(512) << 10) /* of the one that crashed */
#define OPD_WRECK_RED     128u                  /* below the stack pointer, in use by leaf functions */

typedef enum opd_wreck_kind { OPD_WRECK_HEAD = 1, OPD_WRECK_THREAD, OPD_WRECK_MAPS, OPD_WRECK_END } opd_wreck_kind;

/* Followed by `bytes` bytes: the struct of its kind, then for a thread its stack, for MAPS the text of /proc/self/maps. */
typedef struct opd_wreck_part {
    uint64_t magic;
    uint32_t kind; /* opd_wreck_kind */
    uint32_t bytes;
} opd_wreck_part;

typedef struct opd_wreck_head {
    int32_t signal, code;
    uint32_t tid;
    uint32_t access; /* opd_access */
    uint64_t address;
    uint64_t limits[OPD_LIMITS][2]; /* soft, hard, in the order of OPD_LIMIT_LIST */
} opd_wreck_head;

typedef struct opd_wreck_thread {
    uint32_t tid;
    uint32_t state; /* opd_stack_state */
    char name[16];
    uint64_t registers[OPD_REGISTERS];
    uint64_t stack; /* address of the first byte kept */
} opd_wreck_thread;

/* Writes the file; async-signal-safe. context: the ucontext_t of the crash. Takes a second at most, for threads that do not answer. */
void opd_wreck_write(const opd_fault *fault, int code, const void *context);

#endif
