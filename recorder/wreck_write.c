/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The crashing side: only system calls, static memory and the handler's stack. Stacks are written by write(2), which returns
 * EFAULT where reading would fault. The other threads are asked by a directed real-time signal that the program does not use;
 * each notes its registers and stays in the handler until all is written, three seconds at most: nobody changes what is being told, or ends the
 * process in another way.
 */
#include "wreck.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "here.h"

#if defined(__x86_64__)

#define ANSWER_MS 1000u /* how long threads are waited for */
#define PARK_MS   3000u
#define PAGE      4096u
#define FILE_MOST (UINT64_C(64) << 20) /* more than a wreck can have: under a lower RLIMIT_FSIZE none is written */

typedef enum sample_state { SAMPLE_FREE, SAMPLE_ASKED, SAMPLE_ANSWERED } sample_state;
static struct sample {
    _Atomic uint32_t state;
    uint32_t tid;
    uint64_t registers[OPD_REGISTERS];
} samples[OPD_WRECK_THREADS];
static _Atomic uint32_t sample_count, is_over;
static char line[PAGE]; /* one thread of the process gets here */

/* System calls by number: those of the C library are cancellation points, and a thread may have been cancelled. */
static int raw_open(const char *path, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static void raw_close(int file)
{
    syscall(SYS_close, file);
}

static long raw_read(int file, void *to, size_t size)
{
    return syscall(SYS_read, file, to, size);
}

static void pause_ms(unsigned count)
{
    const struct timespec pause = { .tv_sec = count / 1000, .tv_nsec = (long)(count % 1000) * 1000000 };
    syscall(SYS_nanosleep, &pause, NULL);
}

/* In the order of DWARF, then the flags. source: System V ABI, AMD64 supplement, figure 3.36. */
static void take_registers(uint64_t out[OPD_REGISTERS], const ucontext_t *context)
{
    static const uint8_t order[OPD_REGISTERS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                  REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL };
    for (size_t i = 0; i < OPD_REGISTERS; i++) {
        out[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    }
}

static void on_sample(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    (void)number;
    for (uint32_t i = 0; info->si_code == SI_TKILL && i < atomic_load(&sample_count); i++) {
        struct sample *sample = &samples[i];
        if (sample->tid != tid || atomic_load(&sample->state) != SAMPLE_ASKED) {
            continue;
        }
        take_registers(sample->registers, context);
        atomic_store(&sample->state, SAMPLE_ANSWERED);
        for (unsigned waited = 0; waited < PARK_MS && atomic_load(&is_over) == 0; waited++) {
            pause_ms(1);
        }
    }
    errno = saved;
}

/* A real-time signal with its default disposition, from the highest down; 0 = the program uses them all. */
static int take_signal(void)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
    action.sa_sigaction = on_sample;
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV);
    for (int number = SIGRTMAX; number >= SIGRTMIN; number--) {
        struct sigaction old;
        if (sigaction(number, NULL, &old) == 0 && (old.sa_flags & SA_SIGINFO) == 0 && old.sa_handler == SIG_DFL) {
            return sigaction(number, &action, NULL) == 0 ? number : 0;
        }
    }
    return 0;
}

static void put_text(char *to, size_t size, uint32_t tid, const char *what)
{
    snprintf(to, size, "/proc/self/task/%u/%s", tid, what); /* of integers and strings: glibc's allocates nothing */
}

/* First bytes of a small file, as a string. */
static bool read_text(char *text, size_t size, const char *path)
{
    int file = raw_open(path, O_RDONLY);
    long count = file >= 0 ? raw_read(file, text, size - 1) : -1;
    if (file >= 0) {
        raw_close(file);
    }
    text[count > 0 ? count : 0] = '\0';
    return count > 0;
}

static bool put(int file, const void *bytes, size_t size)
{
    return syscall(SYS_write, file, bytes, size) == (long)size;
}

/* The threads of the process but this one, into samples. */
static uint32_t list_threads(uint32_t own)
{
    uint32_t count = 0;
    int folder = raw_open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    long size;
    while (folder >= 0 && (size = syscall(SYS_getdents64, folder, line, sizeof(line))) > 0) {
        for (long at = 0; at < size;) {
            uint16_t length; /* struct linux_dirent64: inode 8, offset 8, length 2, type 1, name */
            memcpy(&length, line + at + 16, sizeof(length));
            uint32_t tid = (uint32_t)strtoul(line + at + 19, NULL, 10);
            if (tid != 0 && tid != own && count < OPD_WRECK_THREADS) {
                samples[count++].tid = tid;
            }
            at += length;
        }
    }
    if (folder >= 0) {
        raw_close(folder);
    }
    return count;
}

static void ask_threads(uint32_t count)
{
    int number = take_signal();
    atomic_store(&sample_count, count);
    uint32_t asked = 0;
    for (uint32_t i = 0; number != 0 && i < count; i++) {
        atomic_store(&samples[i].state, SAMPLE_ASKED);
        asked += syscall(SYS_tgkill, getpid(), samples[i].tid, number) == 0;
    }
    uint32_t answered = 0;
    for (unsigned waited = 0; answered < asked && waited < ANSWER_MS; waited++) {
        answered = 0;
        for (uint32_t i = 0; i < count; i++) {
            answered += atomic_load(&samples[i].state) == SAMPLE_ANSWERED;
        }
        if (answered < asked) {
            pause_ms(1);
        }
    }
}

/* Where the kernel says a blocked thread waits: "NUMBER ARGUMENT*6 SP PC"; false: it runs, or the kernel does not tell. */
static bool ask_kernel(uint64_t registers[OPD_REGISTERS], uint32_t tid)
{
    char path[64];
    char text[256];
    const char *words[9] = { text };
    size_t count = 1;
    put_text(path, sizeof(path), tid, "syscall");
    if (!read_text(text, sizeof(text), path)) {
        return false;
    }
    for (const char *at = text; *at != '\0' && count < OPD_COUNT(words); at++) {
        if (*at == ' ') {
            words[count++] = at + 1;
        }
    }
    if (count < OPD_COUNT(words)) {
        return false;
    }
    registers[OPD_REGISTER_SP] = strtoull(words[7], NULL, 16);
    registers[OPD_REGISTER_PC] = strtoull(words[8], NULL, 16);
    return true;
}

/* As much of the stack as there is. One that overflowed begins above its stack pointer. */
static uint64_t put_stack(int file, uint64_t *start, uint64_t limit)
{
    uint64_t at = *start;
    for (unsigned i = 0; i < 64 && at != 0; i++) {
        long size = syscall(SYS_write, file, at, limit);
        if (size > 0) {
            *start = at;
            return (uint64_t)size;
        }
        at = (at + PAGE) & ~(uint64_t)(PAGE - 1);
    }
    return 0;
}

static void put_thread(int file, const opd_wreck_thread *thread, uint64_t limit)
{
    opd_wreck_part part = { OPD_WRECK_MAGIC, OPD_WRECK_THREAD, sizeof(*thread) };
    opd_wreck_thread copy = *thread;
    off_t place = lseek(file, 0, SEEK_CUR);
    uint64_t sp = copy.registers[OPD_REGISTER_SP];
    copy.stack = sp > OPD_WRECK_RED ? sp - OPD_WRECK_RED : 0;
    if (place < 0 || !put(file, &part, sizeof(part)) || !put(file, &copy, sizeof(copy))) {
        return;
    }
    part.bytes += (uint32_t)put_stack(file, &copy.stack, limit);
    syscall(SYS_pwrite64, file, &part, sizeof(part), place);
    syscall(SYS_pwrite64, file, &copy, sizeof(copy), place + (off_t)sizeof(part));
}

static void name_thread(opd_wreck_thread *thread)
{
    char path[64];
    put_text(path, sizeof(path), thread->tid, "comm");
    if (read_text(thread->name, sizeof(thread->name), path)) {
        thread->name[strcspn(thread->name, "\n")] = '\0';
    }
}

static void put_threads(int file, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        opd_wreck_thread thread = { .tid = samples[i].tid, .state = OPD_STACK_ANSWERED };
        if (atomic_load(&samples[i].state) == SAMPLE_ANSWERED) {
            memcpy(thread.registers, samples[i].registers, sizeof(thread.registers));
        } else {
            thread.state = ask_kernel(thread.registers, thread.tid) ? OPD_STACK_WAITING : OPD_STACK_SILENT;
        }
        name_thread(&thread);
        put_thread(file, &thread, OPD_WRECK_STACK);
    }
}

static void put_maps(int file)
{
    opd_wreck_part part = { OPD_WRECK_MAGIC, OPD_WRECK_MAPS, 0 };
    off_t place = lseek(file, 0, SEEK_CUR);
    int maps = raw_open("/proc/self/maps", O_RDONLY);
    long size;
    if (maps < 0) {
        return;
    }
    if (place >= 0 && put(file, &part, sizeof(part))) {
        while ((size = raw_read(maps, line, sizeof(line))) > 0 && put(file, line, (size_t)size)) {
            part.bytes += (uint32_t)size;
        }
        syscall(SYS_pwrite64, file, &part, sizeof(part), place);
    }
    raw_close(maps);
}

#define OPD_X(suffix, name) RLIMIT_##suffix,
static const int resources[OPD_LIMITS] = { OPD_LIMIT_LIST(OPD_X) };
#undef OPD_X

static void put_head(int file, const opd_fault *fault, int code, const ucontext_t *context)
{
    const opd_wreck_part part = { OPD_WRECK_MAGIC, OPD_WRECK_HEAD, sizeof(opd_wreck_head) };
    opd_wreck_head head = {
        .signal = fault->signal, .code = code, .tid = (uint32_t)syscall(SYS_gettid), .address = fault->address
    };
    if (fault->address != 0) {
        head.access = opd_fault_access(&(opd_fault){ .context = context });
    }
    for (size_t i = 0; i < OPD_LIMITS; i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)resources[i], &limit) == 0) {
            head.limits[i][0] = limit.rlim_cur;
            head.limits[i][1] = limit.rlim_max;
        }
    }
    if (put(file, &part, sizeof(part))) {
        put(file, &head, sizeof(head));
    }
}

static int create(void)
{
    char path[sizeof(opd_recorder.path) + 8];
    struct rlimit limit;
    size_t length = strlen(opd_recorder.path);
    if (length < 4 || getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < FILE_MOST) {
        return -1;
    }
    snprintf(path, sizeof(path), "%.*s" OPD_WRECK_SUFFIX, (int)length - 4, opd_recorder.path);
    return raw_open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW);
}

void opd_wreck_write(const opd_fault *fault, int code, const void *context)
{
    const opd_wreck_part end = { OPD_WRECK_MAGIC, OPD_WRECK_END, 0 };
    bool is_wanted = (opd_recorder.control->triggers & OPD_TRIGGER_CRASH) != 0 && opd_here_is_quiet == 0;
    int file = is_wanted && context != NULL ? create() : -1;
    if (file < 0) {
        return;
    }
    opd_wreck_thread own = { .tid = (uint32_t)syscall(SYS_gettid), .state = OPD_STACK_CRASHED };
    put_head(file, fault, code, context);
    take_registers(own.registers, context);
    name_thread(&own);
    put_thread(file, &own, OPD_WRECK_CRASHED);
    put_maps(file);
    uint32_t count = list_threads(own.tid);
    ask_threads(count);
    put_threads(file, count);
    put(file, &end, sizeof(end));
    raw_close(file);
    atomic_store(&is_over, 1);
}

#else
void opd_wreck_write(const opd_fault *fault, int code, const void *context)
{
    (void)fault; /* registers of other processors have no names here yet */
    (void)code;
    (void)context;
}
#endif
