/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching a process and its threads to the session. Files come pre-sized from the collector where possible, every
 * page is made present before it is touched, and descriptors are closed at once: limits on files, descriptors and
 * address space, a full /dev/shm and a program that closes everything cannot turn the recorder against its host.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "audit.h"
#include "calls.h"
#include "crash.h"
#include "firsts.h"
#include "forms.h"
#include "here.h"
#include "known.h"

#define POPULATE_WAITS  1000
#define EPOCH_ATTACHING UINT64_C(1)
#define PROGRAM_SPACE   (UINT64_C(1) << 30) /* of a limited address space, beyond what is in use: the program's */
#define LEAST_ROOM      ((UINT64_C(4) << 20) + OPD_FORM_BYTES) /* two rings, forms of calls and some data */

opd_here opd_recorder;
__thread opd_thread_words opd_thread;
volatile sig_atomic_t opd_here_is_quiet;

static char session_directory[160];
static pthread_key_t thread_key;
static bool has_thread_key;
static _Atomic uint64_t epochs = EPOCH_ATTACHING;
static atomic_bool is_populating; /* memory of a slot */

void opd_here_hold_signals(sigset_t *old)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < OPD_COUNT(faults); i++) {
        sigdelset(&held, faults[i]);
    }
    if (opd_here_is_quiet == 0) {
        pthread_sigmask(SIG_BLOCK, &held, old);
    }
}

void opd_here_release_signals(const sigset_t *old)
{
    if (opd_here_is_quiet == 0) {
        pthread_sigmask(SIG_SETMASK, old, NULL);
    }
}

bool opd_here_populate(void *start, uint64_t bytes)
{
    uintptr_t first = (uintptr_t)start & ~(uintptr_t)4095;
    uint64_t length = (uintptr_t)start + bytes - first;
    if (madvise((void *)first, length, MADV_POPULATE_WRITE) == 0) {
        return true;
    }
    if (errno != EINVAL) { /* EINVAL: a kernel before 5.14 */
        return false;
    }
    int file = open(opd_recorder.path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    bool is_done = posix_fallocate(file, (off_t)(first - (uintptr_t)opd_recorder.process), (off_t)length) == 0;
    close(file);
    return is_done;
}

void opd_here_wake(void)
{
    opd_control *control = opd_recorder.control;
    atomic_fetch_add(&control->wake, 1);
    if (atomic_load(&control->is_waiting) != 0 && opd_here_is_quiet == 0) {
        int saved = errno;
        syscall(SYS_futex, &control->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
        errno = saved;
    }
}

bool opd_here_is_orphan(void)
{
    if (opd_here_is_quiet != 0) {
        return false;
    }
    int saved = errno;
    bool is_gone = kill(opd_recorder.control->collector_pid, 0) != 0 && errno == ESRCH;
    errno = saved;
    return is_gone;
}

/* --------------------------------------------------------------------------------------------- the process file */

/* Takes one of the collector's pre-sized files; false: there is none left. */
static bool take_spare(const char *path)
{
    for (unsigned i = 0; i < OPD_SPARE_COUNT; i++) {
        char spare[192];
        snprintf(spare, sizeof(spare), "%s/spare-%u", session_directory, i);
        if (renameat2(AT_FDCWD, spare, AT_FDCWD, path, RENAME_NOREPLACE) == 0) {
            return true;
        }
    }
    return false;
}

/* Makes the file ourselves. Growing it past RLIMIT_FSIZE would raise SIGXFSZ, so it is not tried. */
static bool make_file(const char *path, uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) {
        return false;
    }
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        return false;
    }
    bool is_sized = ftruncate(file, (off_t)bytes) == 0;
    close(file);
    return is_sized;
}

/* Address space that is in use; 0 = unknown. */
static uint64_t used_space(void)
{
    char text[32] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, text, sizeof(text) - 1) : 0;
    if (file >= 0) {
        close(file);
    }
    return size > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/*
 * Of a limited address space the program keeps the next gigabyte: a BLAS takes hundreds of megabytes at its first call, and OpenBLAS that
 * gets them not tries for ever. What is beyond is shared, an eighth for us; short of it we take what one or two rings need.
 */
static uint64_t room_of(uint64_t limit, uint64_t ours)
{
    uint64_t used = used_space();
    uint64_t taken = (used > ours ? used - ours : 0) + PROGRAM_SPACE;
    return LEAST_ROOM + (limit > taken ? (limit - taken) / 8 : 0);
}

static uint32_t threads_for(uint32_t threads, uint64_t room)
{
    while (threads > 1 && opd_session_arena_offset(threads) > room / 2) {
        threads /= 2;
    }
    return threads;
}

/* How much to map: all of it, or what a limited address space has room for. 0 = too little to be of use. */
static uint64_t mapped_bytes(uint64_t file_bytes, uint32_t *threads, uint64_t *chunk_bytes)
{
    struct rlimit limit;
    *threads = OPD_PROCESS_THREADS;
    *chunk_bytes = opd_session_chunk_bytes(opd_recorder.control->budget);
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return file_bytes;
    }
    uint64_t room = room_of(limit.rlim_cur, 0);
    if (file_bytes <= room) {
        return file_bytes;
    }
    *threads = threads_for(*threads, room);
    uint64_t offset = opd_session_arena_offset(*threads);
    if (offset > room) {
        return 0;
    }
    uint64_t largest = opd_session_chunk_bytes(room - offset);
    *chunk_bytes = *chunk_bytes < largest ? *chunk_bytes : largest;
    return offset + OPD_ARENA_CHUNKS * *chunk_bytes;
}

/* What the recorder itself does between the two time stamps of a call, at least. */
static uint64_t measure_slice(void)
{
    enum { TRIES = 64 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        _Atomic uint64_t word;
        uint64_t begin = opd_here_ticks();
        atomic_store_explicit(&word, begin,
                              memory_order_release); /* the record is published, the slot left and taken again */
        atomic_store_explicit(&word, begin, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        uint64_t ticks = opd_here_ticks() - begin;
        least = ticks < least ? ticks : least;
    }
    return least;
}

static void describe_process(opd_process *process, uint32_t threads, uint64_t chunk_bytes)
{
    process->layout = OPD_SESSION_LAYOUT;
    process->pid = opd_recorder.pid;
    process->parent = getppid();
    process->start_time = opd_session_start_time(opd_recorder.pid);
    process->pid_namespace = opd_session_pid_namespace();
    process->attach_ticks = opd_here_ticks();
    process->slice_ticks = measure_slice();
    process->thread_limit = threads;
    process->mxcsr = opd_here_mxcsr();
    process->is_audited = opd_audit_is_active();
    atomic_store(&process->handles_faults, !opd_crash_guards);
    ssize_t length = readlink("/proc/self/exe", process->program, sizeof(process->program) - 1);
    if (length < 0) {
        process->program[0] = '\0';
    }
    opd_arena_init(&process->arena, opd_session_arena_offset(threads), chunk_bytes);
    atomic_thread_fence(memory_order_release);
    process->magic = OPD_SESSION_MAGIC; /* from here on the collector may look */
}

static opd_process *map_process(void)
{
    opd_here *here = &opd_recorder;
    here->pid = getpid();
    /* A number of its own for each image: what the collector has done with a name it never looks at again. */
    snprintf(here->path, sizeof(here->path), "%s/%d.%u.opd", session_directory, here->pid,
             atomic_fetch_add(&here->control->images, 1));
    if (!take_spare(here->path) && !make_file(here->path, here->control->file_bytes)) {
        return NULL;
    }
    uint32_t threads;
    uint64_t chunk_bytes;
    here->file_bytes = mapped_bytes(here->control->file_bytes, &threads, &chunk_bytes);
    int file = open(here->path, O_RDWR | O_CLOEXEC);
    if (file < 0 || here->file_bytes == 0) {
        if (file >= 0) {
            close(file);
        }
        return NULL;
    }
    void *start = mmap(NULL, here->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    close(file);
    if (start == MAP_FAILED) {
        return NULL;
    }
    here->process = start;
    madvise(start, here->file_bytes, MADV_DONTDUMP);
    if (!opd_here_populate(start, offsetof(opd_process, form_bytes))) {
        munmap(start, here->file_bytes);
        return NULL;
    }
    describe_process(start, threads, chunk_bytes);
    return start;
}

static void yield_slots(opd_process *process, uint64_t room)
{
    uint32_t before = atomic_load(&process->thread_limit);
    uint32_t threads = threads_for(before, room);
    /* A thread that asks for a slot looks at this after it has counted itself. */
    atomic_store(&process->thread_limit, threads);
    uint32_t used = atomic_load(&process->slots_used);
    if (used > threads) {
        threads = used < before ? used : before;
        atomic_store(&process->thread_limit, threads);
    }
    if (threads < before) {
        munmap((uint8_t *)process + opd_session_arena_offset(threads),
               opd_session_arena_offset(before) - opd_session_arena_offset(threads));
    }
}

void opd_here_yield_space(uint64_t limit)
{
    const opd_here *here = &opd_recorder;
    opd_process *process = here->process;
    if (here->guard == NULL || here->pid != getpid() || atomic_load(&here->guard->epoch) <= 1 || process == NULL ||
        opd_here_is_quiet != 0) {
        return;
    }
    uint64_t room = room_of(limit, here->file_bytes);
    opd_arena *arena = &process->arena;
    if (here->file_bytes <= room || arena->chunk_bytes == 0) {
        return;
    }
    yield_slots(process, room);
    uint64_t rings = opd_session_arena_offset(atomic_load(&process->thread_limit));
    uint64_t chunks = room > rings ? (room - rings) / arena->chunk_bytes : 0;
    if (chunks < OPD_ARENA_CHUNKS) {
        opd_arena_narrow(arena, (uint32_t)chunks);
    }
    for (uint32_t i = (uint32_t)chunks; chunks < OPD_ARENA_CHUNKS && i < OPD_ARENA_CHUNKS; i++) {
        if (opd_arena_give_back(arena, i)) {
            munmap((uint8_t *)process + arena->offset + i * arena->chunk_bytes, arena->chunk_bytes);
        }
    }
}

/* Parts given back may be the program's now. */
static void unmap_process(opd_process *process)
{
    const opd_arena *arena = &process->arena;
    for (uint32_t i = 0; i < OPD_ARENA_CHUNKS && arena->chunk_bytes > 0; i++) {
        if (!opd_arena_is_gone(arena, i)) {
            munmap((uint8_t *)process + arena->offset + i * arena->chunk_bytes, arena->chunk_bytes);
        }
    }
    munmap(process, opd_session_arena_offset(atomic_load(&process->thread_limit)));
}

/* The numbers of modules in answers given before a fork stay good in the child. */
static void copy_modules(opd_process *to, opd_process *from)
{
    uint32_t count = atomic_load(&from->module_count);
    count = count < OPD_PROCESS_MODULES ? count : OPD_PROCESS_MODULES;
    memcpy(to->modules, from->modules, count * sizeof(to->modules[0]));
    atomic_store(&to->module_count, count);
}

/* Attaches this process; the parent's mapping is given back after a fork. One thread gets here, the others pass by. */
static void attach_process(void)
{
    opd_here *here = &opd_recorder;
    opd_process *before = here->process;
    here->process = NULL;
    if (opd_here_is_quiet != 0) {
        before = NULL; /* stays mapped */
        atomic_fetch_add(&here->control->refused, 1);
    } else if (opd_ops_compile() == OPD_OK && atomic_load(&here->control->state) == OPD_SESSION_OPEN) {
        here->process = map_process();
        atomic_fetch_add(&here->control->refused, here->process == NULL);
    }
    if (before != NULL) {
        if (here->process != NULL) {
            copy_modules(here->process, before);
            opd_shown_copy(here->process, before);
            opd_forms_copy(here->process, before, opd_here_populate);
        }
        unmap_process(before);
    }
    if (here->process != NULL) {
        opd_shown_enter_early(here->process);
    }
    atomic_store(&is_populating, false); /* before a fork, by a thread that is not here */
    opd_known_reset();
    opd_firsts_reset();
    if (here->process != NULL) {
        opd_here_wake();
    }
    atomic_store(&here->guard->epoch, atomic_fetch_add(&epochs, 1) + 1);
}

bool opd_here_is_attached(void)
{
    const opd_here *here = &opd_recorder;
    return here->guard != NULL && atomic_load(&here->guard->epoch) > EPOCH_ATTACHING && here->process != NULL;
}

/* -------------------------------------------------------------------------------------------------- threads */

static void set_state(const opd_slot *slot, opd_slot_state state)
{
    opd_process *process = opd_recorder.process;
    atomic_store_explicit(&process->slot_states[slot - process->slots], state, memory_order_release);
}

static void leave_thread(void *slot)
{
    (void)slot; /* after a fork it is the parent's */
    if (opd_thread.slot != NULL && opd_here_is_same()) {
        opd_calls_abandon(opd_thread.slot); /* the frames of its open calls are gone */
        set_state(opd_thread.slot, OPD_SLOT_ENDED);
    }
    opd_thread.slot = NULL;
    opd_thread.epoch = 0;
    opd_crash_give_stack();
}

static void prepare_slot(opd_slot *slot)
{
    slot->tid = (uint32_t)syscall(SYS_gettid);
    slot->earlier += slot->number;
    slot->number = 0;
    slot->depth = 0;
    slot->busy = 0;
    slot->is_pinned = 0;
    slot->seed = 0;
    slot->lease = 0;
    slot->pending.outcome = OPD_OUTCOME_OK;
    slot->paid_at = 0;
    slot->is_spent = 0;
    slot->has_read = 0;
    slot->edge_ticks += slot->after_ticks; /* of the thread before */
    slot->after_ticks = 0;
    slot->missed = 0;
    slot->missed_next = 0;
    if (atomic_load(&slot->head) == 0) {
        atomic_store(&slot->limit, OPD_NO_LIMIT);
    }
    prctl(PR_GET_NAME, slot->name);
}

/*
 * Memory for a new slot, one thread at a time: where there is room for one only, two that allocate at once would both be left without. The
 * wait is bounded, as whoever allocates may be stopped for long; then it is tried all the same.
 */
static bool populate_slot(opd_slot *slot)
{
    for (int i = 0; i < POPULATE_WAITS && atomic_exchange(&is_populating, true); i++) {
        sched_yield();
    }
    bool has_counts = opd_recorder.control->capture == OPD_CAPTURE_COUNTS;
    bool is_there = opd_here_populate(slot, has_counts ? sizeof(*slot) : offsetof(opd_slot, counts));
    atomic_store(&is_populating, false);
    return is_there;
}

/* A slot that no living thread owns, those of ended threads first: their rings are in memory already. */
static opd_slot *claim_slot(opd_process *process)
{
    uint32_t used = atomic_load(&process->slots_used);
    for (uint32_t i = 0; i < used && i < process->thread_limit; i++) {
        uint32_t ended = OPD_SLOT_ENDED;
        if (atomic_compare_exchange_strong(&process->slot_states[i], &ended, OPD_SLOT_TAKEN)) {
            return &process->slots[i];
        }
    }
    uint32_t index = used < process->thread_limit ? atomic_fetch_add(&process->slots_used, 1) : used;
    if (index >= process->thread_limit) {
        return NULL;
    }
    atomic_store(&process->slot_states[index], OPD_SLOT_PREPARED); /* stays so when there is no memory for it */
    return populate_slot(&process->slots[index]) ? &process->slots[index] : NULL;
}

bool opd_here_attach(void)
{
    opd_here *here = &opd_recorder;
    if (here->guard == NULL || here->control == NULL) {
        return false;
    }
    int saved = errno;
    uint64_t epoch = 0;
    if (atomic_load(&here->guard->epoch) == 0) {
        sigset_t signals;
        opd_here_hold_signals(&signals);
        if (atomic_compare_exchange_strong(&here->guard->epoch, &epoch, EPOCH_ATTACHING)) {
            attach_process();
            opd_crash_take_stack();
        }
        opd_here_release_signals(&signals);
    }
    epoch = atomic_load(&here->guard->epoch);
    errno = saved;
    return epoch != EPOCH_ATTACHING;
}

opd_slot *opd_here_attach_thread(void)
{
    opd_here *here = &opd_recorder;
    if (here->guard == NULL || here->control == NULL) {
        return NULL;
    }
    int saved = errno;
    opd_here_attach();
    uint64_t epoch = atomic_load(&here->guard->epoch);
    if (epoch == EPOCH_ATTACHING || opd_thread.epoch == epoch || here->process == NULL) {
        errno = saved;
        return NULL; /* being attached by another thread, or refused before */
    }
    sigset_t signals;
    opd_here_hold_signals(&signals);
    opd_thread.slot = NULL;
    opd_thread.epoch = epoch;
    opd_slot *slot = opd_here_is_quiet == 0 ? claim_slot(here->process) : NULL;
    if (slot != NULL) {
        prepare_slot(slot);
        set_state(slot, OPD_SLOT_TAKEN);
        if (has_thread_key) {
            pthread_setspecific(thread_key, slot);
        }
        opd_thread.slot = slot;
        opd_shown_tell_early(slot);
        opd_crash_take_stack();
    } else {
        atomic_fetch_add(&here->process->threads_lost, 1);
    }
    opd_here_release_signals(&signals);
    errno = saved;
    return opd_thread.slot;
}

/* -------------------------------------------------------------------------------------------------- session */

static opd_control *map_control(const char *session)
{
    char path[192];
    if (snprintf(session_directory, sizeof(session_directory), "%s", session) >= (int)sizeof(session_directory)) {
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/%s", session, OPD_CONTROL_FILE);
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    if (file < 0) {
        return NULL;
    }
    void *start = MAP_FAILED;
    if (fstat(file, &status) == 0 && status.st_uid == geteuid() && (size_t)status.st_size >= sizeof(opd_control)) {
        start = mmap(NULL, sizeof(opd_control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    close(file);
    if (start == MAP_FAILED) {
        return NULL;
    }
    opd_control *control = start;
    if (!opd_session_is_ours(control) || atomic_load(&control->state) != OPD_SESSION_OPEN) {
        munmap(start, sizeof(opd_control));
        return NULL;
    }
    return control;
}

bool opd_here_connect(const char *session)
{
    opd_here *here = &opd_recorder;
    int saved = errno;
    if (here->control == NULL) {
        here->control = map_control(session);
    }
    if (here->control != NULL && here->guard == NULL) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0) {
            here->guard = page;
            has_thread_key = pthread_key_create(&thread_key, leave_thread) == 0;
        }
    }
    here->pid = getpid();
    errno = saved;
    return here->guard != NULL && here->control != NULL;
}
