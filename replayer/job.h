/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the replaying process and its worker share: one memory file, inherited under a fixed descriptor. The parent writes the
 * case and the wishes, the worker what happened. Both sides are the same build, so plain structs are the format; the
 * magic and the sizes refuse anything else.
 *
 *   job                       this struct
 *   packed inputs             job.operands[i].before: existing elements in walk order, before the call
 *   recorded outputs          job.operands[i].recorded: the same, after the recorded call, where it was kept
 *   outputs                   job.operands[i].output: raw bytes of the operand's span, when keep_outputs
 */
#ifndef OPD_REPLAYER_JOB_H
#define OPD_REPLAYER_JOB_H

#include <stdatomic.h>
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/replay.h>

#define OPD_JOB_MAGIC        UINT64_C(0x31424f4a2d44504f)
#define OPD_JOB_FD           3 /* the memory file in the worker */
#define OPD_JOB_TEXT         384
#define OPD_JOB_WORKSPACE    OPD_MAX_OPERANDS /* region of the scratch memory a variant declared */
#define OPD_JOB_PAGE         4096
#define OPD_JOB_OUTPUT_LIMIT ((uint64_t)1 << 30) /* span of an operand brought back with keep_outputs */

/* How far the worker has come: what a death means depends on it. */
typedef enum opd_stage {
    OPD_STAGE_SPAWNED,   /* exec has not happened */
    OPD_STAGE_LOADING,   /* opening the provider */
    OPD_STAGE_PREPARING, /* building operands */
    OPD_STAGE_ARMED,     /* inside the routine: whatever happens now is the routine's doing */
    OPD_STAGE_RETURNED,  /* back from it; judging */
    OPD_STAGE_FAULTED,   /* a signal came while ARMED; job.fault has it */
    OPD_STAGE_FAILED,    /* harness: job.status and job.text */
    OPD_STAGE_DONE,
} opd_stage;

/* How an operand's memory comes about. */
typedef enum opd_place {
    OPD_PLACE_DATA,       /* packed content in the job */
    OPD_PLACE_CANARY,     /* exists, content unknown or of no account: filled with canaries */
    OPD_PLACE_SHARED,     /* lies where another operand's pointer argument says; content as found there */
    OPD_PLACE_UNREADABLE, /* reserved, inaccessible */
    OPD_PLACE_NULL,       /* the caller passed a null pointer */
    OPD_PLACE_RETURNED,   /* the routine's value: a buffer of the harness */
} opd_place;

typedef struct opd_job_operand {
    int32_t place;                       /* opd_place */
    int32_t group;                       /* operands of one group share one mapping at their relative places */
    int64_t group_offset;                /* bytes from the group's lowest byte to this operand's lowest byte */
    uint64_t before, before_bytes;       /* in the job; packed */
    uint64_t recorded, recorded_bytes;   /* in the job; packed content after the recorded call, 0 = not at hand */
    uint64_t output, output_bytes;       /* in the job; 0 = not kept */
    uint64_t given, golden, whole_bytes; /* in the job: all elements in row-major order; 0 = none */
    int64_t low, high; /* span relative to element 0, unreferenced triangles included: that memory exists */
    uint64_t address;  /* of element 0 in the case, else as recorded: its place in a page is restored */
    bool is_in_case;   /* address is the case's: comparable with those of other operands */
} opd_job_operand;

/* Where an operand stood in the worker, for the reading of fault addresses by the parent. */
typedef struct opd_job_region {
    uint64_t low, high;                 /* the operand's span */
    uint64_t map_low, map_high;         /* accessible pages */
    uint64_t reserve_low, reserve_high; /* with the inaccessible zones around it */
} opd_job_region;

typedef struct opd_job_fault {
    int32_t signal, code;
    uint64_t address;
    uint64_t pc;
    uint64_t error; /* x86 page-fault error code; bit 1 = write, bit 4 = fetch */
    bool has_error;
    int32_t tid;
    bool is_main_thread;
    uint64_t symbol_base; /* 0 = the name is an object's, offset from its load address */
    uint64_t object_base;
    char symbol[80];
    char object[80]; /* file name of the object */
} opd_job_fault;

/* A write outside the outputs, found after the call. */
typedef struct opd_job_stray {
    bool is_found;
    bool is_input; /* an existing element of operand, which is an input */
    int32_t operand;
    int64_t distance; /* as opd_failure.distance; inside the span: bytes from its start, is_gap set */
    bool is_gap;
    uint64_t bytes; /* changed bytes */
    int64_t index[OPD_MAX_RANK];
} opd_job_stray;

typedef struct opd_job {
    uint64_t magic;
    uint64_t size;      /* of the whole memory file */
    uint32_t job_bytes; /* sizeof(opd_job) */

    /* wishes */
    uint32_t repeat, concurrent;
    bool is_poisoned;
    int32_t guard; /* opd_guard */
    uint32_t timeout_ms;
    bool is_timeout_cpu;
    uint32_t mxcsr;
    int32_t threads; /* 0 = leave */
    bool keep_outputs, skip_reference, is_trusted_path, with_metrics, with_stages, is_exact_data;
    char stages[OPD_JOB_TEXT]; /* "a b"; "" = all */
    char convention[24];       /* "" = none */
    char peers[OPD_MAX_PEERS][24];
    double abs_err, rel_err;
    bool is_convention_deciding;
    bool is_given;
    int32_t golden_sureness; /* opd_sureness; NONE = the definition's values */
    double reference_limit;  /* operations */
    bool is_reference_dear;  /* not wanted unless the bits differ from the recorded ones */
    bool is_born_expected;   /* the reference is not wanted when NaN or Inf are born again with the recorded bits */
    uint64_t memory_limit;
    char library[512];      /* path, soname or known name */
    char variant[OPD_NAME]; /* of our own or a user's kernels; "" = the first that can, for operators outside BLAS */
    char engine[512];       /* file of another maker's library; "" = the loader's */
    double certify_limit;   /* operations; negative = the reference is run once */
    char core[32];          /* to force; "" = none */
    bool is_core_asked;     /* by the user, not by the record */
    char isa[24];           /* DNNL_MAX_CPU_ISA, oneDNN choosing its layouts; "" = as recorded */
    opd_call call;          /* pointers inside are not valid in the worker */
    opd_job_operand operands[OPD_MAX_OPERANDS];
    int32_t group_count;
    char bad_args[OPD_JOB_TEXT]; /* not empty: the arguments break the contract */
    char overflow[OPD_NAME];     /* operand whose last offset overflows 32-bit integers; "" = none */

    /* answers */
    _Atomic uint32_t stage;        /* opd_stage */
    _Atomic uint64_t armed_ns;     /* CLOCK_MONOTONIC when the routine was entered */
    _Atomic uint64_t armed_cpu_ns; /* CPU time of the process then, when the limit is of that */
    int32_t child_errno;           /* exec failed */
    bool is_in_definition;         /* while RETURNED: the operator's definition runs */
    uint32_t fault_stage;          /* stage at which the signal came */
    int32_t status;                /* opd_status of a harness failure */
    char text[OPD_JOB_TEXT];
    int32_t pass;                                 /* opd_guard of the pass that ran last */
    uint32_t run;                                 /* number of the run in flight or last, from 0 */
    uint32_t pass_number;                         /* finished passes */
    bool first_failed;                            /* the first run of the pass */
    opd_job_region regions[OPD_MAX_OPERANDS + 1]; /* the last: OPD_JOB_WORKSPACE */
    opd_fence fences[OPD_FENCES];                 /* while a user's definition runs: its arrays */
    bool alignment_changed[OPD_MAX_OPERANDS];
    opd_job_fault fault;
    opd_replay_result result; /* observed, same, numbers, runs, library, build_id, core, threads, run_ns, outputs */
    char note[OPD_JOB_TEXT];  /* for the environment text */
} opd_job;

/* Is the operator's definition a user's, which may do anything? */
static inline bool opd_job_has_own_definition(const opd_job *job)
{
    return job->library[0] != '\0' && strcmp(job->call.domain, "blas") != 0;
}

/* How people call the region OPD_JOB_WORKSPACE. */
static inline const char *opd_job_scratch_name(const opd_call *call)
{
    return strcmp(call->domain, "dnnl") == 0 ? "scratchpad" : "workspace";
}

/* What a primitive keeps for its gradient is its own business: neither judged nor compared. */
static inline bool opd_job_is_private(const opd_call *call, int operand)
{
    return strcmp(call->domain, "dnnl") == 0 && strcmp(call->operands[operand].name, "workspace") == 0;
}

static inline uint8_t *opd_job_at(opd_job *job, uint64_t offset)
{
    return (uint8_t *)job + offset;
}

/* Parent side: a job for item; *fd is its memory file. Unmap with opd_job_close. recorded may be NULL: where recorded outputs are. */
opd_status opd_job_new(opd_job **out, int *fd, const opd_case *item, const opd_bundle *recorded,
                       const opd_replay_options *options);
void opd_job_close(opd_job *job, int fd);

/* Runs the worker until it ends or its time is over. wait_status as waitpid gives it; text: what it printed, at most size bytes. */
typedef struct opd_spawn {
    const char *worker;
    char **environment;
    opd_job *job;
    int fd;
    int wait_status;
    bool is_timeout;
    double operations; /* of the call, for the progress; the worker's call points into its own program */
    const opd_replay_options *options; /* whose progress is called */
    char output[OPD_JOB_TEXT];
} opd_spawn;
opd_status opd_spawn_run(opd_spawn *spawn);

/* The worker's environment: this process's, with what the provider reads replaced. Freed as one block by opd_free. */
opd_status opd_worker_environment(char ***out, const opd_environment_info *recorded, const char *core, const char *isa,
                                  int threads);
/* Lines "what: recorded X, here Y" of machine differences appended to text. */
void opd_environment_compare(char *text, size_t size, const opd_environment_info *recorded,
                             const opd_environment_info *here);

/* Turns what the worker left and how it ended into the result. */
void opd_verdict_read(opd_replay_result *out, const opd_spawn *spawn, const opd_failure *expected);

/* Appends a formatted line to a fixed text; never overflows. */
void opd_line(char *text, size_t size, const char *format, ...) OPD_PRINTF(3, 4);

#endif
