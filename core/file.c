/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file seam: sinks for output, read-only mappings for input, and writing a small file as a whole.
 * Every text of a failure names the path.
 */
#include <opsdebug/memory.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault.h"

/* Up to here a file is read into memory: as fast as a mapping, and a later truncation cannot raise SIGBUS. */
#define READ_WHOLE_BYTES ((size_t)64 * 1024)
#define TEMPORARY_TRIES  100
#define RESERVE_LEAST    ((uint64_t)8 * 1024)
/* Extents kept of a sparse file; what lies behind the last counts as data. */
#define EXTENTS_MAX ((size_t)1 << 20)

static long write_countdown = -1;

void opd_fail_write_after(long count)
{
    __atomic_store_n(&write_countdown, count, __ATOMIC_RELAXED);
}

static void do_nothing(int number)
{
    (void)number;
}

/* A handler rather than SIG_IGN: exec gives handled signals their default back, ignored ones would stay ignored. */
void opd_fail_without_signal(int number)
{
    struct sigaction old;
    struct sigaction action = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && (old.sa_flags & SA_SIGINFO) == 0 && old.sa_handler == SIG_DFL) {
        sigaction(number, &action, NULL);
    }
}

typedef struct file_sink {
    opd_sink base; /* first, so that a pointer to it is a pointer to the whole */
    char *path;
    int fd;
    bool has_reserve;
    uint64_t size;           /* written so far */
    struct file_sink *owned; /* the next of our own; those of opd_sink_open_own only */
    dev_t device;
    ino_t inode;
} file_sink;

/*
 * Files that this process alone may write. Record locks keep other processes out; unlike those of flock(2) and of open file
 * descriptions, a child on the way from fork to exec that outlives us does not hold them. They do not keep out our own
 * threads, and are lost with any descriptor of the file that we close: hence this list, asked before a file is opened.
 */
static pthread_mutex_t owned_lock = PTHREAD_MUTEX_INITIALIZER;
static file_sink *owned_first;

static bool is_owned(const char *path)
{
    struct stat named;
    const file_sink *at = stat(path, &named) == 0 ? owned_first : NULL;
    while (at != NULL && (at->device != named.st_dev || at->inode != named.st_ino)) {
        at = at->owned;
    }
    return at != NULL;
}

static void disown(const file_sink *file)
{
    file_sink **at = &owned_first;
    pthread_mutex_lock(&owned_lock);
    while (*at != NULL && *at != file) {
        at = &(*at)->owned;
    }
    if (*at != NULL) {
        *at = file->owned;
    }
    pthread_mutex_unlock(&owned_lock);
}

static opd_status file_write(opd_sink *sink, const void *bytes, size_t size)
{
    file_sink *file = (file_sink *)sink;
    const uint8_t *at = bytes;
    if (opd_fault_hits(&write_countdown)) {
        errno = EIO;
        return opd_fail(OPD_E_IO, "cannot write to %s: %s", file->path, strerror(errno));
    }
    while (size > 0) {
        ssize_t done = write(file->fd, at, size);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return opd_fail(OPD_E_IO, "cannot write to %s: %s", file->path, strerror(done < 0 ? errno : EIO));
        }
        at += done;
        size -= (size_t)done;
        file->size += (uint64_t)done;
    }
    return OPD_OK;
}

/* Blocks behind the end of the file, as many of them as there is room for; where the file system has no such thing, none. */
static void file_reserve(opd_sink *sink, uint64_t bytes)
{
    file_sink *file = (file_sink *)sink;
    bool is_done = false;
    for (uint64_t part = bytes; !is_done && part >= RESERVE_LEAST; part /= 2) {
        is_done = fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)file->size, (off_t)part) == 0;
        file->has_reserve |= is_done;
    }
}

static void give_reserve_back(file_sink *file)
{
    if (file->has_reserve && ftruncate(file->fd, (off_t)file->size) == 0) {
        file->has_reserve = false;
    }
}

static opd_status file_flush(opd_sink *sink)
{
    file_sink *file = (file_sink *)sink;
    give_reserve_back(file);
    /* EINVAL, EROFS: a pipe, a terminal or /dev/null, which have no stable storage. */
    if (fsync(file->fd) != 0 && errno != EINVAL && errno != EROFS) {
        return opd_fail(OPD_E_IO, "cannot sync %s: %s", file->path, strerror(errno));
    }
    return OPD_OK;
}

static opd_status file_close(opd_sink *sink)
{
    file_sink *file = (file_sink *)sink;
    opd_status status = OPD_OK;
    give_reserve_back(file);
    disown(file);
    /* On Linux the descriptor is gone after EINTR too: never try again. */
    if (close(file->fd) != 0 && errno != EINTR) {
        status = opd_fail(OPD_E_IO, "cannot close %s: %s", file->path, strerror(errno));
    }
    opd_free(file->path);
    opd_free(file);
    return status;
}

/* Texts name `shown`: what was asked for, where the file opened is one beside it. */
static opd_status open_sink(opd_sink **out, const char *opened, const char *shown, int flags)
{
    file_sink *file = NULL;
    char *copy = NULL;
    void *block = NULL;
    opd_status status = opd_alloc(&block, sizeof(*file));
    if (status != OPD_OK) {
        goto out;
    }
    file = block;
    status = opd_strdup(&copy, shown);
    if (status != OPD_OK) {
        goto out;
    }
    int fd = open(opened, flags, 0666);
    if (fd < 0) {
        status = opd_fail(OPD_E_IO, "cannot create %s: %s", shown, strerror(errno));
        goto out;
    }
    *file =
        (file_sink){ .base = { .write = file_write, .flush = file_flush, .close = file_close, .reserve = file_reserve },
                     .path = copy,
                     .fd = fd };
    *out = &file->base;
    return OPD_OK;
out:
    opd_free(copy);
    opd_free(file);
    return status;
}

opd_status opd_sink_open_file(opd_sink **out, const char *path)
{
    return open_sink(out, path, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
}

/* Does the name still lead to the locked file? Whoever had it before may have renamed it meanwhile. */
static bool is_named(int fd, const char *path)
{
    struct stat held;
    struct stat named;
    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

/* Once, under owned_lock. A sink it leaves without OPD_OK, or whose file is_gone from the name, is the caller's to close. */
static opd_status lock_own(opd_sink **out, bool *is_gone, const char *path, const char *shown)
{
    opd_sink *sink = NULL;
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat held;
    if (is_owned(path)) {
        return opd_fail(OPD_E_IO, "cannot create %s: it is being written already", shown);
    }
    opd_status status = open_sink(&sink, path, shown, O_WRONLY | O_CREAT | O_CLOEXEC);
    if (status != OPD_OK) {
        return status;
    }
    file_sink *file = (file_sink *)sink;
    bool is_locked = fcntl(file->fd, F_SETLK, &whole) == 0;
    if (!is_locked && (errno == EAGAIN || errno == EACCES)) {
        status = opd_fail(OPD_E_IO, "cannot create %s: another process is writing it", shown);
    } else if (is_locked && !is_named(file->fd, path)) {
        *is_gone = true;
    } else if (ftruncate(file->fd, 0) != 0 && errno != EINVAL) { /* a file system without locks is used all the same */
        status = opd_fail(OPD_E_IO, "cannot create %s: %s", shown, strerror(errno));
    } else if (fstat(file->fd, &held) == 0) {
        file->device = held.st_dev;
        file->inode = held.st_ino;
        file->owned = owned_first;
        owned_first = file;
    }
    *out = sink;
    return status;
}

opd_status opd_sink_open_own(opd_sink **out, const char *path, const char *shown)
{
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        opd_sink *sink = NULL;
        bool is_gone = false;
        pthread_mutex_lock(&owned_lock);
        opd_status status = lock_own(&sink, &is_gone, path, shown);
        pthread_mutex_unlock(&owned_lock);
        if (status == OPD_OK && !is_gone) {
            *out = sink;
            return OPD_OK;
        }
        if (sink != NULL) {
            sink->close(sink);
        }
        if (status != OPD_OK) {
            return status;
        }
    }
    return opd_fail(OPD_E_IO, "cannot create %s: other processes keep writing it", shown);
}

static opd_status read_whole(opd_mapping *out, int fd, size_t size, const char *path)
{
    void *block = NULL;
    opd_status status = opd_alloc(&block, size);
    if (status != OPD_OK) {
        return opd_fail_in(status, "%s", path);
    }
    size_t used = 0;
    while (used < size) {
        ssize_t got = pread(fd, (uint8_t *)block + used, size - used, (off_t)used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            status = opd_fail(OPD_E_IO, "cannot read %s: %s", path, strerror(errno));
            opd_free(block);
            return status;
        }
        if (got == 0) {
            break; /* it has become shorter */
        }
        used += (size_t)got;
    }
    *out = (opd_mapping){ .bytes = block, .size = used, .is_heap = true };
    return OPD_OK;
}

/* Where a sparse file holds data. A file system that cannot tell leaves all of the file as data. */
static opd_status list_data(opd_mapping *mapping, int fd)
{
    size_t at = 0;
    size_t capacity = 0;
    bool is_known = true;
    opd_status status = opd_grow((void **)&mapping->data, capacity = 16, sizeof(*mapping->data));
    while (status == OPD_OK && is_known && at < mapping->size) {
        off_t first = lseek(fd, (off_t)at, SEEK_DATA);
        if (first < 0 && errno == ENXIO) {
            break; /* a hole to the end */
        }
        off_t end = first < 0 ? -1 : lseek(fd, first, SEEK_HOLE);
        is_known = end > first;
        if (!is_known || (size_t)first >= mapping->size) {
            break; /* or it is growing */
        }
        if (mapping->data_count == capacity) {
            status = opd_grow((void **)&mapping->data, capacity *= 2, sizeof(*mapping->data));
        }
        if (status == OPD_OK) {
            at = mapping->data_count + 1 < EXTENTS_MAX && (size_t)end < mapping->size ? (size_t)end : mapping->size;
            mapping->data[mapping->data_count++] = (opd_extent){ .first = (size_t)first, .end = at };
        }
    }
    if (status != OPD_OK || !is_known) {
        opd_free(mapping->data);
        mapping->data = NULL;
        mapping->data_count = 0;
    }
    return status;
}

static opd_status map_open_file(opd_mapping *out, int fd, const char *path)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return opd_fail(OPD_E_IO, "cannot read %s: %s", path, strerror(errno));
    }
    if (S_ISDIR(info.st_mode)) {
        return opd_fail(OPD_E_IO, "%s is a directory, not a file", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return opd_fail(OPD_E_IO, "%s is not a regular file", path);
    }
    size_t size = (size_t)info.st_size;
    if (size > READ_WHOLE_BYTES) {
        void *address = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (address != MAP_FAILED) {
            opd_mapping mapping = { .bytes = address, .size = size };
            opd_status status = (uint64_t)info.st_blocks * 512 < size ? list_data(&mapping, fd) : OPD_OK;
            if (status != OPD_OK) {
                (void)munmap(address, size);
                return opd_fail_in(status, "%s", path);
            }
            *out = mapping;
            return OPD_OK;
        }
    }
    return read_whole(out, fd, size, path); /* also where a file system cannot map */
}

opd_status opd_mapping_open(opd_mapping *out, const char *path)
{
    /* O_NONBLOCK: opening a FIFO must not wait for its writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        opd_status status = errno == ENOENT || errno == ENOTDIR ? OPD_E_NOTFOUND : OPD_E_IO;
        return opd_fail(status, "cannot open %s: %s", path, strerror(errno));
    }
    opd_status status = map_open_file(out, fd, path);
    (void)close(fd);
    return status;
}

void opd_mapping_close(opd_mapping *mapping)
{
    if (mapping == NULL || mapping->bytes == NULL) {
        return;
    }
    /* The bytes are ours to give back although nobody may write them. */
    void *address;
    memcpy(&address, &mapping->bytes, sizeof(address));
    if (mapping->is_heap) {
        opd_free(address);
    } else {
        (void)munmap(address, mapping->size);
    }
    opd_free(mapping->data);
    *mapping = (opd_mapping){ 0 };
}

/* Opens a file of a new name beside path; name has room for it. */
static opd_status open_temporary(opd_sink **out, char *name, size_t size, const char *path)
{
    static unsigned counter;
    opd_status status = OPD_OK;
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        unsigned number = __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
        (void)snprintf(name, size, "%s.tmp-%ld-%u", path, (long)getpid(), number);
        status = open_sink(out, name, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
        if (status != OPD_E_IO || errno != EEXIST) {
            break;
        }
    }
    return status;
}

/* Makes the rename itself durable; a file system that cannot sync a directory is no reason to fail. */
static void sync_directory_of(char *path)
{
    char *slash = strrchr(path, '/');
    const char *directory = ".";
    if (slash != NULL) {
        slash[slash == path ? 1 : 0] = '\0';
        directory = path;
    }
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
}

opd_status opd_write_file(const char *path, const void *bytes, size_t size)
{
    size_t room = strlen(path) + 48; /* ".tmp-", two numbers and the end */
    void *block = NULL;
    opd_status status = opd_alloc(&block, room);
    if (status != OPD_OK) {
        return opd_fail_in(status, "%s", path);
    }
    char *name = block;
    opd_sink *sink = NULL;
    status = open_temporary(&sink, name, room, path);
    if (sink == NULL) {
        opd_free(name);
        return status;
    }
    status = sink->write(sink, bytes, size);
    if (status == OPD_OK) {
        status = sink->flush(sink);
    }
    opd_status closed = sink->close(sink);
    if (status == OPD_OK) {
        status = closed;
    }
    if (status == OPD_OK && rename(name, path) != 0) {
        status = opd_fail(OPD_E_IO, "cannot replace %s: %s", path, strerror(errno));
    }
    if (status == OPD_OK) {
        sync_directory_of(name);
    } else {
        (void)unlink(name);
    }
    opd_free(name);
    return status;
}
