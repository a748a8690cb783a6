/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle (.opsb): plain structs of what it holds, its writer, its reader, and the directory store. Generated
 * protobuf types stop inside proto/. docs/format.md is the specification.
 *
 * States of a bundle: absent -> NAME.partial (growing, or left by a crash; readable) -> NAME (complete: index
 * written, synced, renamed). A reader takes either and says which.
 */
#ifndef OPSDEBUG_BUNDLE_H
#define OPSDEBUG_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>
#include <opsdebug/status.h>
#include <opsdebug/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPD_FORMAT_VERSION 1 /* 1: first */
#define OPD_SUFFIX         ".opsb"

/* ------------------------------------------------------------------------------------- what a bundle holds */

typedef struct opd_header_info {
    uint32_t version;
    char producer[64]; /* "ops-debug 0.1.0" */
    char kind[16];     /* "failure", "requested", "run", "reduced", "api" */
    uint64_t created_realtime_ns;
    uint64_t created_monotonic_ns;
    uint32_t pid;
    char program[256];  /* argv[0] */
    char command[1024]; /* arguments joined by spaces */
    char capture[16];   /* "counts", "meta", "stats", "inputs", "full" */
} opd_header_info;

/* A loaded library or the executable. */
typedef struct opd_module {
    char path[512];
    char build_id[41];   /* hex; "" = none */
    char core[32];       /* effective OpenBLAS core, for a BLAS */
    char config[128];    /* openblas_get_config(), for a BLAS */
    uint64_t start, end; /* addresses in the recorded process */
    int32_t threads;     /* its thread count; 0 = unknown */
} opd_module;

typedef struct opd_environment_info {
    char cpu_model[64];
    char isa[512]; /* space separated: "avx2 fma avx512f ..." */
    char kernel[128];
    char libc[64];
    uint32_t cpu_count;
    uint32_t l1d_bytes, l2_bytes, l3_bytes;
    uint32_t mxcsr; /* of the thread that attached the process, for calls that do not say (opd_call.mxcsr) */
    char variables
        [2048]; /* NAME=VALUE lines, of OPENBLAS_, OMP_, MKL_, BLIS_, DNNL_, GOTO_, LD_PRELOAD, LD_LIBRARY_PATH */
} opd_environment_info;

typedef enum opd_outcome { /* pinned numbers */
                           OPD_OUTCOME_OK = 0,
                           OPD_OUTCOME_NAN_BORN = 1, /* NaN in an output, in no operand that must be read */
                           OPD_OUTCOME_INF_BORN = 2,
                           OPD_OUTCOME_CRASH = 3,    /* signal */
                           OPD_OUTCOME_HANG = 4,     /* time limit */
                           OPD_OUTCOME_BAD_ARGS = 5, /* contract violation by the caller */
                           OPD_OUTCOME_MISMATCH = 6, /* wrong values against the reference */
                           OPD_OUTCOME_OOB_READ = 7,
                           OPD_OUTCOME_OOB_WRITE = 8,
                           /* 9 is reserved and was never written: such a read is NAN_BORN with its label */
                           OPD_OUTCOME_UNSUPPORTED =
                               10, /* the machine or library cannot run it (SIGILL of a forced core) */
                           OPD_OUTCOME_HARNESS = 11,       /* our own trouble: no verdict */
                           OPD_OUTCOME_REQUESTED = 12,     /* asked for from outside, at exit, or always */
                           OPD_OUTCOME_INPUT_MUTATED = 13, /* an input operand changed during the call */
                           OPD_OUTCOME_UNWRITTEN = 14, /* elements of an output still hold what was there before */
                           OPD_OUTCOME_ALLOCATED = 15, /* a variant that declares its workspace allocates memory */
                           OPD_OUTCOME_UNSTABLE = 16, /* runs differ that must not, by the declared determinism */
                           OPD_OUTCOME_MODE = 17, /* the floating-point mode is another after the call */
                           OPD_OUTCOME_MAGNITUDE = 20, /* a finite value beyond the limit asked for */
} opd_outcome;
const char *
opd_outcome_name(opd_outcome outcome); /* "nan", "inf", "crash", "timeout", "contract", "mismatch", "oob-read", ... */

typedef struct opd_failure {
    opd_outcome outcome;
    uint32_t thread;
    uint64_t call_number;        /* the failing call: (thread, number); 0 = none in flight */
    char operand[OPD_NAME];      /* where it shows; "" = none */
    int64_t index[OPD_MAX_RANK]; /* first bad element */
    int32_t index_rank;          /* -1 = unknown */
    uint64_t bad_count;          /* bad elements */
    int32_t signal;              /* crash */
    int32_t signal_code;
    uint64_t fault_address; /* 0 = unknown */
    uint64_t pc;
    char pc_symbol[96];   /* "dgemm_kernel_HASWELL+0x1f0", "" = unknown */
    int64_t distance;     /* out of bounds: bytes past the end (>= 0) or before the start (< 0) of operand */
    char label[OPD_NAME]; /* root-cause label: "unread-operand-read", "oob-read", ...; "" = no rule decided */
    float confidence;     /* of the label, 0 .. 0.95 */
    char reason[384];     /* one sentence */
    uint64_t time_ns;
} opd_failure;

typedef struct opd_event {
    char kind[24]; /* "drop", "mark", "range-push", "range-pop", "trigger", "note", "point", "seed", "state", "recipe" */
    char name[96];
    uint32_t thread;
    uint64_t time_ns;
    int64_t value;
} opd_event;

typedef struct opd_frame {
    uint64_t address;
    uint32_t module; /* index + 1; 0 = unknown */
    char symbol[96];
} opd_frame;

/* x86-64 in the order of DWARF, then rip and the flags. */
#define OPD_REGISTERS   18
#define OPD_REGISTER_SP 7
#define OPD_REGISTER_PC 16
const char *opd_register_name(int index); /* "rax"; NULL: there is none */

/* How the place of a thread was come by when the process crashed. */
typedef enum opd_stack_state {
    OPD_STACK_PLAIN,    /* frames alone, from somewhere else */
    OPD_STACK_CRASHED,  /* the thread with the fault */
    OPD_STACK_ANSWERED, /* it answered a signal */
    OPD_STACK_WAITING,  /* it did not; the kernel tells where it waits, and of its registers sp and rip */
    OPD_STACK_SILENT,   /* it did not, and nothing is known */
} opd_stack_state;
const char *opd_stack_state_name(opd_stack_state state); /* "crashed", ... */

/* Native stack of a thread, innermost frame first. */
typedef struct opd_stack {
    uint32_t thread;
    opd_stack_state state;
    char name[16];
    uint64_t registers[OPD_REGISTERS];
    uint64_t call_number; /* the call it was in, 0 = none */
    const opd_frame *frames;
    uint32_t frame_count;
    bool is_cut; /* there were more */
} opd_stack;

typedef enum opd_access { OPD_ACCESS_UNKNOWN, OPD_ACCESS_READ, OPD_ACCESS_WRITE, OPD_ACCESS_EXECUTE } opd_access;
const char *opd_access_name(opd_access access); /* "read"; "" = unknown */

/* Resource limits that explain crashes: RLIMIT_ suffix, name */
#define OPD_LIMIT_LIST(X)       \
    X(STACK, "stack")           \
    X(AS, "address-space")      \
    X(DATA, "data")             \
    X(RSS, "resident")          \
    X(MEMLOCK, "locked-memory") \
    X(NOFILE, "open-files")     \
    X(NPROC, "processes")       \
    X(CORE, "core")
#define OPD_LIMITS          8
#define OPD_LIMIT_UNLIMITED UINT64_MAX
const char *opd_limit_name(int index); /* NULL: there is none */

typedef enum opd_place_of {
    OPD_PLACE_NOWHERE,
    OPD_PLACE_IN,     /* distance: bytes from its first */
    OPD_PLACE_BEFORE, /* bytes before its first */
    OPD_PLACE_AFTER,  /* bytes past its end: 0 = the first */
} opd_place_of;

/* What is known of a crash beside its failure. */
typedef struct opd_crash_info {
    uint32_t thread; /* whose fault it was; the failure's is the one whose call is blamed */
    opd_access access;
    uint64_t address;       /* 0 = unknown */
    opd_place_of place;     /* of the address, in or beside an operand of the call */
    char operand[OPD_NAME]; /* "" = none is near */
    int64_t distance;
    int64_t index[OPD_MAX_RANK]; /* of the element there */
    int32_t index_rank;          /* -1 = unknown */
    bool is_overflow;            /* of the thread's stack */
    uint32_t threads, silent;    /* threads of the process; of them those that did not answer */
    uint64_t limits[OPD_LIMITS][2]; /* soft, hard */
} opd_crash_info;

/* At capture level counts: how often a thread made calls like a recorded one, that one included. */
typedef struct opd_count {
    uint32_t thread; /* thread and number of the recorded call, the first of them */
    uint64_t number;
    uint64_t calls, ns; /* ns: in all of them */
    bool is_rest;       /* calls of the operator in all other forms too, by any thread: there were more than are told apart */
} opd_count;

typedef struct opd_lineage {
    char parent[OPD_DIGEST_TEXT]; /* content id of the bundle it was made from */
    char step[200];               /* "n: 777 -> 1" */
    char verdict[16];
} opd_lineage;

/* ------------------------------------------------------------------------------------------------- writing */

typedef struct opd_writer opd_writer;

/* Creates path.partial and writes the header record. errors: E_IO (text names the path). */
opd_status opd_writer_open(opd_writer **out, const char *path, const opd_header_info *header);
/* The same onto a sink (taken; closed with the writer), no renaming. */
opd_status opd_writer_open_sink(opd_writer **out, opd_sink *take_sink, const opd_header_info *header);

opd_status opd_writer_environment(opd_writer *writer, const opd_environment_info *environment);
/* *out is the module's number (index + 1) for opd_call.provider; the same path and build-id give the same number. */
opd_status opd_writer_module(opd_writer *writer, uint32_t *out, const opd_module *module);
/* Names a thread for the timeline; call before its first call. */
opd_status opd_writer_thread(opd_writer *writer, uint32_t pid, uint32_t tid, const char *name);
/* Buffers the call; flushed as a batch at 4096 calls or by opd_writer_flush(). Timeline packets are made from it. */
opd_status opd_writer_call(opd_writer *writer, const opd_call *call);
/* Stores packed content once per digest; codec chosen per chunk. Returns OK and stores nothing when it is known already. */
opd_status opd_writer_tensor(opd_writer *writer, const opd_digest *digest, const opd_tensor *view, const void *packed);
/*
 * Stores, in place of a content, what makes it: fill with its seed and stream, over view. Verified when it is read. Stores nothing when the
 * digest is known already.
 */
opd_status opd_writer_recipe(opd_writer *writer, const opd_digest *digest, const opd_tensor *view, const opd_fill *fill);
/*
 * For each operand with data in memory (view.data set; not UNREADABLE, NOT_KEPT, RETURNED): packs and stores it and sets `before` to its
 * digest. Then the call.
 */
opd_status opd_writer_call_with_data(opd_writer *writer, opd_call *call);
opd_status opd_writer_event(opd_writer *writer, const opd_event *event);
opd_status opd_writer_failure(opd_writer *writer, const opd_failure *failure);
opd_status opd_writer_backtrace(opd_writer *writer, uint32_t thread, const opd_frame *frames, int count);
/* A thread's stack with registers and state. */
opd_status opd_writer_stack(opd_writer *writer, const opd_stack *stack);
opd_status opd_writer_crash(opd_writer *writer, const opd_crash_info *crash);
opd_status opd_writer_count(opd_writer *writer, const opd_count *count);
opd_status opd_writer_lineage(opd_writer *writer, const opd_lineage *lineage);
/* Pushes everything buffered to the file (not to the disk), so that a reader sees all calls so far. */
opd_status opd_writer_flush(opd_writer *writer);
/* Sets room on the disk aside for the next bytes, where it can be had: what fills the disk meanwhile is not in the way. */
void opd_writer_reserve(opd_writer *writer, uint64_t bytes);
/* Flushes, writes index and end record, syncs, renames NAME.partial to NAME, frees. On failure the .partial stays. */
opd_status opd_writer_close(opd_writer *writer);
/* Frees without completing; the .partial stays when keep, else it is removed. */
void opd_writer_abandon(opd_writer *writer, bool keep);
uint64_t opd_writer_size(const opd_writer *writer); /* bytes so far */

/* ------------------------------------------------------------------------------------------------- reading */

typedef struct opd_bundle opd_bundle;

typedef struct opd_bundle_state {
    bool is_partial;    /* name ends in .partial or there is no good end record */
    bool index_rebuilt; /* index missing or damaged; rebuilt by scanning */
    uint64_t
        records; /* as the index says; verified ones after a scan or opd_bundle_damage(); index and end not counted */
    uint64_t damaged;      /* damaged places; of tensors and timeline only known after a scan or opd_bundle_damage() */
    uint64_t unknown;      /* records of kinds this build does not know */
    uint64_t first_damage; /* file offset; valid when damaged > 0 */
    uint64_t bytes;
} opd_bundle_state;

/*
 * Opens path, or path.partial when path is absent. Never executes anything, never follows a path found inside.
 * errors    E_NOTFOUND, E_IO (directory, unreadable), E_FORMAT (not a bundle: no verified record), E_VERSION.
 * memory    the file is mapped; decoded data are copies.
 */
opd_status opd_bundle_open(opd_bundle **out, const char *path);
opd_status opd_bundle_open_memory(opd_bundle **out, const void *bytes, size_t size); /* bytes borrowed */
void opd_bundle_close(opd_bundle *bundle);

/*
 * Verifies the whole file and reports each damaged place in file order: text "record at offset N: check fails (M bytes lost)". Opening
 * verifies everything but tensors and timeline; those are verified when read. report may be NULL: only the state is brought up to date.
 */
typedef void opd_damage_fn(void *context, uint64_t offset, uint64_t bytes, const char *text);
void opd_bundle_damage(const opd_bundle *bundle, opd_damage_fn *report, void *context);

const opd_bundle_state *opd_bundle_state_of(const opd_bundle *bundle);
const char *opd_bundle_path(const opd_bundle *bundle);
const opd_header_info *opd_bundle_header(const opd_bundle *bundle);
const opd_environment_info *opd_bundle_environment(const opd_bundle *bundle); /* NULL when absent */
uint32_t opd_bundle_module_count(const opd_bundle *bundle);
const opd_module *opd_bundle_module(const opd_bundle *bundle,
                                    uint32_t number); /* number = index + 1; NULL when unknown */
uint64_t opd_bundle_call_count(const opd_bundle *bundle);
/*
 * Calls in file order. O(log batches); calls near each other are cheap. A view that does not pass opd_tensor_check() comes back as no view
 * (dtype NONE). errors: E_NOTFOUND position; E_FORMAT the batch holds contradictions: the text has its offset.
 */
opd_status opd_bundle_call(opd_call *out, const opd_bundle *bundle, uint64_t position);
/* Position of (thread, number); E_NOTFOUND. */
opd_status opd_bundle_find_call(uint64_t *position, const opd_bundle *bundle, uint32_t thread, uint64_t number);
uint32_t opd_bundle_failure_count(const opd_bundle *bundle);
const opd_failure *opd_bundle_failure(const opd_bundle *bundle, uint32_t index);
uint32_t opd_bundle_event_count(const opd_bundle *bundle);
const opd_event *opd_bundle_event(const opd_bundle *bundle, uint32_t index);
uint32_t opd_bundle_frame_count(const opd_bundle *bundle, uint32_t thread);
const opd_frame *opd_bundle_frame(const opd_bundle *bundle, uint32_t thread, uint32_t index);
/* Stacks in the order they were written: of a crash, that of the thread with the fault first. */
uint32_t opd_bundle_stack_count(const opd_bundle *bundle);
const opd_stack *opd_bundle_stack(const opd_bundle *bundle, uint32_t index);
const opd_crash_info *opd_bundle_crash(const opd_bundle *bundle); /* NULL: no crash, or nothing beside the failure is known */
uint32_t opd_bundle_count_count(const opd_bundle *bundle); /* 0 unless captured at level counts */
const opd_count *opd_bundle_count(const opd_bundle *bundle, uint32_t index);
uint32_t opd_bundle_lineage_count(const opd_bundle *bundle);
const opd_lineage *opd_bundle_lineage(const opd_bundle *bundle, uint32_t index);
uint32_t opd_bundle_thread_count(const opd_bundle *bundle);
/* tid and name of the index-th thread. */
const char *opd_bundle_thread(const opd_bundle *bundle, uint32_t index, uint32_t *pid, uint32_t *tid);

/* Where the content of a digest is: "bundle", "store", or not found. */
bool opd_bundle_has_tensor(const opd_bundle *bundle, const opd_digest *digest);
/* Packed bytes of a digest into dst (exactly size bytes), verified against the digest for view. errors: E_NOTFOUND names digest and places looked at. */
opd_status opd_bundle_tensor(void *dst, size_t size, const opd_bundle *bundle, const opd_digest *digest,
                             const opd_tensor *view);
/* The content-addressed directory used when the bundle lacks a blob; NULL = none. Default: $OPSDEBUG_STORE. */
opd_status opd_bundle_set_store(opd_bundle *bundle, const char *directory);

/* Bytes between and around the elements of a materialised operand, and the content of operands that must not be read and were not kept: NaN in every float type. */
#define OPD_GAP_CANARY 0xff

/* Memory of a case. */
typedef struct opd_block {
    void *memory; /* the allocation */
    size_t size;
    void *base;     /* first usable byte; view.storage of the operands in it */
    uint64_t bytes; /* usable */
    bool is_sparse; /* mapped; only pages that hold elements can be accessed */
} opd_block;

/*
 * A case: one call with its operands materialised in memory of its own. Operands whose spans met in the recorded process share one
 * block at their relative places; alignment (address mod 4096) is restored; bytes of gaps hold OPD_GAP_CANARY. A span of gigabytes
 * with few elements is mapped sparse. view.storage and storage_bytes are the block.
 */
typedef struct opd_case {
    opd_call call;                      /* operands[].view.data set (NULL: unreadable, or of no known shape) */
    opd_block blocks[OPD_MAX_OPERANDS]; /* owned */
    int32_t block_count;
} opd_case;

/*
 * An operand that must be read needs its content. An unreadable one with no content stays NULL. Outputs and operands that must not be read
 * are filled with their content if kept, else with the canary.
 *
 * limit     total bytes of the spans; of a sparse block only its pages in use count.
 * errors    E_NOTFOUND a needed input has no data: names operand, digest and places looked at; E_LIMIT; E_FORMAT; E_NOMEM.
 */
opd_status opd_case_load(opd_case *out, const opd_bundle *bundle, const opd_call *call, uint64_t limit);
/* Deep copy; alignment and overlaps are kept. An operand whose data lie outside the blocks gets a block of its own; NULL stays NULL. */
opd_status opd_case_copy(opd_case *out, const opd_case *from);
void opd_case_done(opd_case *item);
/* Allocates storage for every operand of call (views bound), zero-filled, separate, 64-byte aligned plus address mod 64. */
opd_status opd_case_allocate(opd_case *out, const opd_call *call, uint64_t limit);

/*
 * Content id of the case: XXH3-128 over operator, flags, floating-point mode, values, views, how operands overlap, and digests (of the data when in memory, else
 * `before`; outputs have none). Equal cases have equal ids wherever their memory lies.
 */
opd_digest opd_case_id(const opd_case *item);

/* ------------------------------------------------------------------------------------------------ mending */

typedef struct opd_salvage_report {
    uint64_t records_kept, records_lost, bytes_lost, calls, tensors_kept, tensors_lost;
} opd_salvage_report;
/* Told of each tensor that is left out: "dgemm, thread 1 call 7, operand A before: why". */
typedef void opd_loss_fn(void *context, const char *text);
/*
 * Copies every verified record of a torn or damaged bundle to a complete one. Tensors that miss a chunk, do not decode or hold something else
 * than their digest says are left out and counted lost, and lost (may be NULL) is told. from stays as it is, also when it is to.partial.
 * errors: as opd_bundle_open; E_INVALID from is to; E_IO; E_NOMEM.
 */
opd_status opd_salvage(opd_salvage_report *report, const char *from, const char *to, opd_loss_fn *lost, void *context);

/*
 * Directory store: blobs by digest in DIR/ab/cdef... . put makes DIR when absent, writes temporary + rename; get verifies.
 * errors: E_IO; put: E_INVALID digest and content disagree; get: E_NOTFOUND, E_FORMAT damaged.
 */
opd_status opd_store_put(const char *directory, const opd_digest *digest, const opd_tensor *view, const void *packed);
bool opd_store_has(const char *directory, const opd_digest *digest);
opd_status opd_store_get(void *dst, size_t size, const char *directory, const opd_digest *digest,
                         const opd_tensor *view);
/*
 * Thin bundle -> self-contained: copies it as opd_salvage() does and adds what the store (NULL: $OPSDEBUG_STORE) has of its operands.
 * errors: E_NOTFOUND the content of an operand that must be read, recorded at capture inputs or full, is nowhere; E_FORMAT it is there but
 * cannot be read; as opd_salvage.
 */
opd_status opd_pack(const char *from, const char *to, const char *store, opd_loss_fn *lost, void *context);

#ifdef __cplusplus
}
#endif
#endif
