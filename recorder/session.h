/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorded processes and the collector share: a session directory in /dev/shm with one control page and, for
 * each process image, one sparse file PID.K.opd (K never comes twice): process header, thread slots (ring of calls each), data arena.
 * Everything is position-free and survives the death of both sides. Producer and consumer are always the same build
 * (layout is checked), so plain structs do.
 */
#ifndef OPD_SESSION_H
#define OPD_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/op.h>
#include <opsdebug/record.h>

#include "counted.h"

#include "request.h"

#define OPD_SESSION_MAGIC    UINT64_C(0x31534552444f504f) /* "OPODRES1" */
#define OPD_SESSION_LAYOUT   4u
#define OPD_SESSION_VARIABLE "OPSDEBUG_SESSION"
#define OPD_SESSION_ROOT     "/dev/shm"
#define OPD_PLACE_VARIABLE   "OPSDEBUG_SHM_DIR" /* a folder to use in place of OPD_SESSION_ROOT */
#define OPD_CLOCK_VARIABLE   "OPSDEBUG_CLOCK"   /* "monotonic": no time stamp counter */
#define OPD_CONTROL_FILE     "control"
#define OPD_SPARE_COUNT      4u /* pre-sized files that wait for a process: it may not grow one under RLIMIT_FSIZE */
#define OPD_CACHE_LINE       64
#define OPD_PROCESS_THREADS  256u
#define OPD_PROCESS_MODULES  96u
#define OPD_RING_WORDS       65536u /* 512 KiB of calls per thread */
#define OPD_SEGMENT_WORDS    4096u  /* no record crosses a segment: a reader that was lapped goes on at the next one */
#define OPD_NO_LIMIT         UINT64_MAX

typedef enum opd_session_state { OPD_SESSION_OPEN = 1, OPD_SESSION_CLOSED = 2 } opd_session_state;

typedef struct opd_control {
    uint64_t magic;
    uint32_t layout;
    uint32_t process_bytes;      /* sizeof(opd_process), so that two builds do not meet */
    _Atomic uint32_t state;      /* opd_session_state */
    _Atomic uint32_t wake;       /* futex word: bumped by a producer that wants the collector */
    _Atomic uint32_t is_waiting; /* the collector sleeps on wake */
    _Atomic uint32_t images;     /* process images so far: their numbers are in the order of attaching */
    _Atomic uint32_t refused;    /* of them those that found no room */
    int32_t collector_pid;
    uint64_t collector_start; /* start time of that process: a reused pid is not it */
    uint32_t control_bytes;   /* sizeof(opd_control), likewise */
    uint32_t capture;         /* opd_capture */
    uint32_t triggers;
    uint32_t timeout_ms;
    double magnitude;
    uint32_t sample;
    uint32_t first;         /* operands of the first calls of each kind only; 0 = of all */
    double overhead;        /* share of its time that reading operands may cost a thread; 0 = no limit */
    uint32_t tracks_writes; /* what has not been written to since is not read again, where the kernel can tell */
    uint32_t max_bundles;
    uint32_t per_failure;    /* bundles of one kind of failure that come at once; then one in OPD_FAILURE_PAUSE_NS */
    uint32_t verify;         /* one call in so many is run again on the reference; 0 = none */
    uint32_t reads_operands; /* of any call */
    uint32_t samples_stats;  /* statistics of operands are those of a sample */
    uint32_t has_tsc;        /* records carry TSC ticks, else CLOCK_MONOTONIC ns */
    uint64_t budget;
    uint64_t range_first, range_last;
    uint64_t file_bytes;        /* size of a process file */
    uint64_t tsc_base, ns_base; /* taken together at the start of the session */
    double ns_per_tick;         /* 0 until known */
    uint64_t created_realtime_ns;
    uint32_t has_environment;
    opd_environment_info environment;
    _Atomic uint64_t calls; /* drained so far, of all processes */
    opd_request requests[OPD_REQUESTS];
    char match[256];
    char out[4096]; /* absolute */
    char command[1024];
} opd_control;

/* A loaded object that called or provided a routine. */
typedef struct opd_shared_module {
    _Atomic uint32_t is_ready;
    int32_t threads;
    uint32_t is_blas;      /* exports BLAS or LAPACK names */
    uint32_t is_bystander; /* noted at exit of a process without calls */
    uint32_t is_elsewhere; /* a BLAS in another name space, to which no recorded call went */
    uint64_t start, end;
    char path[512];
    char core[32];
    char config[128];
} opd_shared_module;

/* WRITTEN: the collector is at it. */
typedef enum opd_freeze_state {
    OPD_FREEZE_NONE,
    OPD_FREEZE_FILLING,
    OPD_FREEZE_ASKED,
    OPD_FREEZE_WRITTEN
} opd_freeze_state;

/* Why the window is frozen. */
typedef struct opd_shared_trigger {
    uint32_t outcome; /* opd_outcome */
    uint32_t tid;
    uint32_t slot;     /* thread slot; OPD_PROCESS_THREADS = none */
    int32_t operand;   /* index; -1 = none */
    uint64_t number;   /* failing call; 0 = none */
    uint64_t position; /* of its record in the ring */
    uint64_t ticks;
    int64_t element;              /* first bad element in walk order; -1 = unknown */
    uint64_t bad_count;           /* of a crash: the signal */
    uint64_t address, pc;         /* of a crash that the program survived (is_survived) */
    uint32_t is_survived, access; /* access: opd_access */
    char routine[OPD_NAME];       /* its failures are counted together; "" = not a failure of a call */
    char reason[384];
} opd_shared_trigger;

/* Failures of one kind: what happened, in which operand of which routine. */
#define OPD_FAILURE_KINDS    64u
#define OPD_FAILURE_PAUSE_NS UINT64_C(60000000000)
typedef struct opd_failure_kind {
    _Atomic uint64_t key; /* 0 = free */
    _Atomic uint32_t seen, written;
    _Atomic uint64_t last_ns; /* of the last bundle */
    uint32_t outcome;
    char routine[OPD_NAME];
} opd_failure_kind;

/* A trigger that came while a window was frozen already: all it needs is frozen too. */
#define OPD_TRIGGER_QUEUE 16u
typedef enum opd_queue_state { OPD_QUEUE_FREE, OPD_QUEUE_FILLING, OPD_QUEUE_READY } opd_queue_state;
typedef struct opd_queued_trigger {
    _Atomic uint32_t state; /* opd_queue_state */
    opd_shared_trigger trigger;
} opd_queued_trigger;

/* Written by the crashing thread only. */
typedef struct opd_shared_crash {
    _Atomic uint32_t is_set; /* 2 = filled */
    uint32_t is_exit;        /* the program's own handler ended the process */
    int32_t signal, code;
    uint32_t tid;
    uint64_t address, pc;
    uint64_t module_start;
    char module[512];
} opd_shared_crash;

/* Only slots from TAKEN on have memory behind them: others must not be touched, not even read. */
typedef enum opd_slot_state { OPD_SLOT_FREE, OPD_SLOT_PREPARED, OPD_SLOT_TAKEN, OPD_SLOT_ENDED } opd_slot_state;

/* A call that has begun on a thread. */
typedef struct opd_open_call {
    uint64_t frame;    /* stack address of its wrapper */
    uint64_t position; /* of its record; OPD_NO_LIMIT = dropped */
    uint64_t begun;    /* ticks, of a counted call */
    uint32_t flags;    /* OPD_OPEN_... */
    uint32_t
        parts; /* words from the record's start to its operand parts; of a counted call, its place among the counts */
} opd_open_call;
enum {
    OPD_OPEN_DATA = 1 << 0,    /* operands are captured */
    OPD_OPEN_BLAS = 1 << 1,    /* calls inside it are the library's own layers */
    OPD_OPEN_HAD_NAN = 1 << 2, /* in something that must be read */
    OPD_OPEN_HAD_INF = 1 << 3,
    OPD_OPEN_BAD_ARGS = 1 << 4,
    OPD_OPEN_VERIFY = 1 << 6,  /* is run again on the reference: all of its operands are kept */
    OPD_OPEN_COUNTED = 1 << 5, /* has no record but the first of its kind */
};
#define OPD_OPEN_DEPTH 16u

/* One thread's ring and what only its owner writes, the collector's own words last. */
typedef struct opd_slot {
    _Alignas(OPD_CACHE_LINE) _Atomic uint64_t
        reserved;             /* words ever reserved: what lies before reserved - ring may be torn */
    _Atomic uint64_t head;    /* words ever published */
    _Atomic uint64_t limit;   /* may not reserve past it while the window is frozen */
    _Atomic uint64_t dropped; /* calls that found no room */
    uint64_t number;          /* calls of the current thread */
    uint64_t earlier;         /* calls of the threads that had the slot before */
    uint64_t woken_at;        /* head when the collector was last woken */
    uint32_t depth;           /* open calls */
    uint32_t is_pinned;       /* the leased chunk is being written to */
    uint64_t busy;            /* stack address of whoever is inside the recorder; 0 = nobody */
    opd_open_call open[OPD_OPEN_DEPTH];
    uint64_t seed;
    uint64_t lease;       /* data chunk of this thread: serial + 1; 0 = none */
    uint64_t lease_index; /* where that chunk lies */
    uint64_t lease_used, lease_bytes;
    double credit;                                          /* ticks that reading operands may take (allowance.h) */
    uint64_t paid_at, spent_calls, edge_ticks, after_ticks; /* both of own_ticks: see allowance.c */
    uint32_t is_spent, has_read;
    _Atomic uint64_t own_ticks;                 /* that reading operands took */
    _Atomic uint64_t unread_calls;              /* whose operands were not read for that */
    uint64_t missed, missed_bytes, missed_next; /* operands without room, the last one's size; told next when so many */
    _Alignas(OPD_CACHE_LINE) uint32_t tid;
    char name[16];
    _Alignas(OPD_CACHE_LINE) _Atomic uint64_t tail; /* the collector has written everything before it */
    uint64_t reported;                              /* number of the call a timeout was reported for */
    _Alignas(OPD_CACHE_LINE) opd_call scratch;      /* the owner's bound call: thread stacks may be 16 KiB */
    char reason[384];                               /* why its arguments are bad */
    opd_shared_trigger pending;                     /* what its return will trigger; outcome OK = nothing */
    _Alignas(4096) _Atomic uint64_t ring[OPD_RING_WORDS];
    opd_counted counts[OPD_COUNT_KINDS + OPD_COUNT_OPERATORS]; /* has memory at capture level counts only */
} opd_slot;

/*
 * Data chunks, leased in order. The low bits of tags[i] hold serial + 1 of the lease that owns chunk i, so a reference
 * is good exactly while its tag stands; the high byte counts those who write there now: a chunk in use is not leased.
 */
#define OPD_ARENA_CHUNKS 64u
#define OPD_BUDGET_LEAST (UINT64_C(4096) * OPD_ARENA_CHUNKS) /* below it no data is kept */
#define OPD_TAG_PIN      (UINT64_C(1) << 56)
#define OPD_TAG_KEEP     (UINT64_C(1) << 55) /* of the keep area: not leased; part of the serials there */
#define OPD_TAG_SERIAL   (OPD_TAG_PIN - 1)

/*
 * The keep area grows from the end of the arena down, at most to its middle, and holds what was seen unchanged twice. Laps pass it by. Its
 * parts are used anew when nothing in them has been referred to for a whole lap.
 */
#define OPD_KEEP_PARTS 32u
typedef struct opd_keep_part {
    uint32_t index, chunks; /* chunks 0 = there is none */
    uint64_t serial, filled;
    _Atomic uint64_t touched; /* the arena's next when it was last referred to */
} opd_keep_part;
typedef struct opd_arena {
    _Atomic uint64_t next;   /* serial of the next lease */
    _Atomic uint64_t frozen; /* leases with serial >= frozen may not be overwritten; OPD_NO_LIMIT = none */
    _Atomic uint32_t count;  /* usable chunks: less than asked for when memory ran out */
    uint32_t is_off;
    uint64_t chunk_bytes;
    uint64_t offset;            /* from the start of the file */
    _Atomic uint64_t refused;   /* operands that found no room */
    _Atomic uint32_t keep_busy; /* one thread at a time keeps something; others do not wait */
    uint32_t keep_parts, keep_chunks;
    _Atomic uint64_t keep_bytes; /* put there */
    opd_keep_part keep[OPD_KEEP_PARTS];
    _Atomic uint64_t tags[OPD_ARENA_CHUNKS];
} opd_arena;

/* Forms of calls (forms.h): offset + 1 of each in form_bytes. */
#define OPD_FORM_COUNT 2048u
#define OPD_FORM_BYTES (UINT64_C(1) << 20)
typedef struct opd_forms {
    _Atomic uint32_t count;
    _Atomic uint64_t used; /* bytes */
    _Atomic uint32_t places[OPD_FORM_COUNT];
} opd_forms;

/* A random generator whose state the program shows us, or (address 0) a seed it was given, the last by that name. */
#define OPD_SHOWN_COUNT 12u
#define OPD_SHOWN_BYTES 2560u /* a Mersenne Twister */
typedef struct opd_shown {
    _Atomic uint32_t is_set;
    uint32_t bytes;
    uint64_t address;
    char name[40];
    uint8_t state[OPD_SHOWN_BYTES]; /* as it was when the last trigger fired, and before that when it was shown */
} opd_shown;

typedef struct opd_process {
    uint64_t magic;
    uint32_t layout;
    int32_t pid, parent;
    uint32_t mxcsr;
    uint64_t start_time;    /* of the process, from /proc: tells a reused pid */
    uint64_t pid_namespace; /* inode; the pid means nothing in another one. 0 = unknown */
    uint64_t attach_ticks;
    uint64_t slice_ticks;                              /* between the two time stamps of a call that does nothing */
    _Atomic uint32_t thread_limit;                     /* slots that fit the mapping */
    _Atomic uint32_t slots_used;                       /* slots ever asked for */
    _Atomic uint32_t slot_states[OPD_PROCESS_THREADS]; /* opd_slot_state */
    _Atomic uint32_t threads_lost;                     /* threads that found no slot */
    _Atomic uint32_t is_ended;                         /* the image ran its exit handlers, or left by _exit */
    uint32_t is_audited;                               /* by the shim for LD_AUDIT */
    _Atomic uint32_t handles_faults;                   /* SIGSEGV goes to a handler of the program, not to ours */
    _Atomic uint32_t freeze;                           /* opd_freeze_state */
    _Atomic uint32_t fired;                            /* triggers so far, for max_bundles */
    _Atomic uint32_t suppressed;                       /* triggers that were counted only */
    _Atomic uint32_t survived; /* crashes inside a call that a handler of the program jumped out of */
    opd_shared_trigger trigger;
    opd_queued_trigger queue[OPD_TRIGGER_QUEUE];
    opd_failure_kind kinds[OPD_FAILURE_KINDS];
    opd_shared_crash crash;
    char program[256];
    opd_arena arena;
    char why_untracked[96]; /* why writes are not tracked; "" = they are, or nobody has asked yet */
    _Atomic uint32_t module_count;
    opd_shared_module modules[OPD_PROCESS_MODULES];
    _Atomic uint32_t shown_count;
    opd_shown shown[OPD_SHOWN_COUNT];
    opd_forms forms;
    _Alignas(4096) uint8_t form_bytes[OPD_FORM_BYTES]; /* has memory as far as forms are in it */
    _Alignas(4096) opd_slot slots[];
} opd_process;

/* ---------------------------------------------------------------------------------------- records in the ring */

typedef enum opd_record_kind {
    OPD_RECORD_PAD = 0,
    OPD_RECORD_BLAS = 1,   /* raw argument words */
    OPD_RECORD_CALL = 2,   /* an opd_call of the C API, unused parts left out */
    OPD_RECORD_EVENT = 3,  /* range push, pop, mark: value and name */
    OPD_RECORD_FORM = 4,   /* number of a form, then addresses and scalars */
    OPD_RECORD_PACKED = 5, /* a call as packed.h has it */
} opd_record_kind;

typedef enum opd_record_state {
    OPD_STATE_PUBLISHED = 1, /* head and words are valid; operands are being read */
    OPD_STATE_SUBMITTED = 2, /* the "before" parts are valid; the routine runs */
    OPD_STATE_COMPLETE = 3,  /* all valid */
    OPD_STATE_LOST = 4,      /* left without a return (longjmp) */
    OPD_STATE_CRASHED = 5,   /* the same, by a handler of a fatal signal: RETURN is the signal, RETURN2 the address */
} opd_record_state;

/* Fixed words of a record, then `words` argument words (or packed call, or event name), then operand parts. */
enum {
    OPD_R_HEAD, /* size:16 kind:8 depth:8 words:16 operands:8 pattern:8 */
    OPD_R_STATE,
    OPD_R_NUMBER,
    OPD_R_WHO,     /* tid:32 routine:16 has_data:8 */
    OPD_R_MODULES, /* provider:16 caller:16 flags:16 mxcsr:16 (0 = unknown) */
    OPD_R_BEGIN,
    OPD_R_END,
    OPD_R_RETURN,
    OPD_R_RETURN2,
    OPD_R_SEED,
    OPD_R_ADDRESS, /* return address of the caller */
    OPD_R_WORDS,   /* first argument word */
};

/* A call of the C API is packed as one word of counts (symbols, attributes, operands, a byte each), then its head and the
 * values and operands in use. */
#define OPD_CALL_HEAD_BYTES offsetof(opd_call, symbols)

/* Where content lies in the arena. bytes 0 = not kept. */
typedef struct opd_place {
    uint64_t serial; /* of the first chunk */
    uint64_t offset; /* from the start of that chunk */
    uint64_t bytes;
} opd_place;

typedef struct opd_operand_part {
    uint64_t flags; /* OPD_OPERAND_..., and HAS_AFTER below */
    opd_digest before, after;
    opd_health health_before, health_after;
    opd_place place_before, place_after;
} opd_operand_part;
#define OPD_PART_WORDS     (sizeof(opd_operand_part) / 8)
#define OPD_PART_HAS_AFTER (UINT64_C(1) << 32)

_Static_assert(sizeof(opd_operand_part) % 8 == 0, "parts are copied word by word");
_Static_assert(OPD_R_WORDS + OPD_MAX_WORDS + OPD_MAX_OPERANDS * OPD_PART_WORDS <= OPD_SEGMENT_WORDS,
               "a record fits a segment");
_Static_assert(OPD_CALL_DIRECT < 1 << 16 && OPD_MXCSR_CONTROL < 1 << 16, "flags and mode share a word");
_Static_assert(OPD_RING_WORDS % OPD_SEGMENT_WORDS == 0, "segments tile the ring");

/* Bytes of a process file before its arena, for a number of slots. */
static inline uint64_t opd_session_arena_offset(uint32_t slots)
{
    return sizeof(opd_process) + (uint64_t)slots * sizeof(opd_slot);
}

/* Chunk size for a budget: 64 chunks, whole pages. 0 = no data is kept. */
static inline uint64_t opd_session_chunk_bytes(uint64_t budget)
{
    return budget / OPD_ARENA_CHUNKS / 4096 * 4096;
}

static inline uint64_t opd_session_file_bytes(uint64_t budget)
{
    return opd_session_arena_offset(OPD_PROCESS_THREADS) + OPD_ARENA_CHUNKS * opd_session_chunk_bytes(budget);
}

/* The slot at index when a thread has or had it, else NULL. */
static inline opd_slot *opd_session_slot(opd_process *process, uint32_t index)
{
    return index < process->thread_limit && index < OPD_PROCESS_THREADS &&
                   atomic_load(&process->slot_states[index]) >= OPD_SLOT_TAKEN
               ? &process->slots[index]
               : NULL;
}

/* Was the control page written by this build? It has at least sizeof(opd_control) bytes. */
bool opd_session_is_ours(const opd_control *control);
/* Does its collector run? */
bool opd_session_is_attended(const opd_control *control);

/* Start time of a process in clock ticks since boot; 0 when it does not exist or is a zombie. */
uint64_t opd_session_start_time(int pid);

/* How a process ended, as waitpid tells it, while nobody has waited for it yet. */
#define OPD_STATUS_UNKNOWN (-1)
int opd_session_wait_status(int pid, uint64_t start_time);

/* The inode of this process's pid namespace; 0 when /proc does not tell. */
uint64_t opd_session_pid_namespace(void);

#endif
