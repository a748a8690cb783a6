/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a wreck. A process that was breaking wrote it: nothing in it is believed before it is checked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inquest.h"

#define FILE_MOST ((size_t)256 << 20)

static void path_of(char *path, size_t size, const char *process_path)
{
    size_t length = strlen(process_path);
    snprintf(path, size, "%.*s" OPD_WRECK_SUFFIX, (int)(length > 4 ? length - 4 : 0), process_path);
}

static opd_status read_all(opd_wreck *wreck, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return opd_fail(OPD_E_NOTFOUND, "%s: %s", path, strerror(errno));
    }
    opd_status status = OPD_OK;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size <= 0 || (size_t)size > FILE_MOST || fseek(file, 0, SEEK_SET) != 0) {
        status = opd_fail(OPD_E_FORMAT, "%s: %ld bytes are no wreck", path, size);
    } else {
        status = opd_alloc((void **)&wreck->bytes, (size_t)size);
    }
    if (status == OPD_OK) {
        wreck->size = fread(wreck->bytes, 1, (size_t)size, file);
    }
    fclose(file);
    return status;
}

static void take_thread(opd_wreck *wreck, const uint8_t *bytes, size_t size)
{
    if (size < sizeof(opd_wreck_thread) || wreck->thread_count >= OPD_COUNT(wreck->threads)) {
        return;
    }
    opd_wrecked_thread *thread = &wreck->threads[wreck->thread_count++];
    memcpy(&thread->thread, bytes, sizeof(thread->thread));
    thread->thread.name[sizeof(thread->thread.name) - 1] = '\0';
    thread->stack = bytes + sizeof(thread->thread);
    thread->stack_bytes = size - sizeof(thread->thread);
}

/* The object of a mapping's file; those with offset 0 begin one. */
static uint32_t enter_object(opd_wreck *wreck, const opd_wrecked_range *mapping, const char *path)
{
    for (size_t i = wreck->object_count; i-- > 0;) {
        opd_wrecked_object *object = &wreck->objects[i];
        if (strcmp(object->path, path) == 0 && (mapping->offset != 0 || object->start == mapping->start)) {
            object->end = mapping->end;
            return (uint32_t)i + 1;
        }
    }
    if (mapping->offset != 0 || path[0] != '/' || strstr(path, " (deleted)") != NULL ||
        opd_grow((void **)&wreck->objects, wreck->object_count + 1, sizeof(*wreck->objects)) != OPD_OK) {
        return 0;
    }
    opd_wrecked_object *object = &wreck->objects[wreck->object_count++];
    *object = (opd_wrecked_object){ .start = mapping->start, .end = mapping->end };
    snprintf(object->path, sizeof(object->path), "%s", path);
    return (uint32_t)wreck->object_count;
}

/* "START-END PERM OFFSET DEVICE INODE PATH" */
static void take_mapping(opd_wreck *wreck, const char *line)
{
    unsigned long long start;
    unsigned long long end;
    unsigned long long offset;
    char permissions[5];
    int path = 0;
    // NOLINTNEXTLINE(cert-err34-c): hexadecimal of the kernel's, too short to overflow
    if (sscanf(line, "%16llx-%16llx %4s %16llx %*s %*s %n", &start, &end, permissions, &offset, &path) < 4 ||
        path == 0 || start >= end ||
        opd_grow((void **)&wreck->mappings, wreck->mapping_count + 1, sizeof(*wreck->mappings)) != OPD_OK) {
        return;
    }
    opd_wrecked_range *mapping = &wreck->mappings[wreck->mapping_count++];
    *mapping = (opd_wrecked_range){ .start = start, .end = end, .offset = offset, .is_code = permissions[2] == 'x' };
    mapping->object = enter_object(wreck, mapping, line + path);
}

static void take_maps(opd_wreck *wreck, const uint8_t *bytes, size_t size)
{
    char line[1024];
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(bytes + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - bytes) - at : size - at;
        if (length < sizeof(line) && end != NULL) {
            memcpy(line, bytes + at, length);
            line[length] = '\0';
            take_mapping(wreck, line);
        }
        at += length + 1;
    }
}

static void take_parts(opd_wreck *wreck)
{
    opd_wreck_part part;
    for (size_t at = 0; at + sizeof(part) <= wreck->size; at += part.bytes) {
        memcpy(&part, wreck->bytes + at, sizeof(part));
        at += sizeof(part);
        if (part.magic != OPD_WRECK_MAGIC || part.bytes > wreck->size - at) {
            return; /* cut short: what came before is good */
        }
        const uint8_t *bytes = wreck->bytes + at;
        switch ((opd_wreck_kind)part.kind) {
        case OPD_WRECK_HEAD:
            memcpy(&wreck->head, bytes, part.bytes < sizeof(wreck->head) ? part.bytes : sizeof(wreck->head));
            break;
        case OPD_WRECK_THREAD:
            take_thread(wreck, bytes, part.bytes);
            break;
        case OPD_WRECK_MAPS:
            take_maps(wreck, bytes, part.bytes);
            break;
        case OPD_WRECK_END:
            return;
        }
    }
}

opd_status opd_wreck_read(opd_wreck **out, const char *process_path)
{
    char path[512];
    opd_wreck *wreck = NULL;
    path_of(path, sizeof(path), process_path);
    opd_status status = opd_alloc((void **)&wreck, sizeof(*wreck));
    if (status != OPD_OK) {
        return status;
    }
    status = read_all(wreck, path);
    if (status == OPD_OK) {
        take_parts(wreck);
        if (wreck->thread_count == 0) {
            status = opd_fail(OPD_E_FORMAT, "%s: it was cut short before the first thread", path);
        }
    }
    if (status == OPD_OK) {
        *out = wreck;
    } else {
        opd_wreck_free(wreck);
    }
    return status;
}

void opd_wreck_free(opd_wreck *wreck)
{
    if (wreck != NULL) {
        opd_free(wreck->mappings);
        opd_free(wreck->objects);
        opd_free(wreck->bytes);
        opd_free(wreck);
    }
}

void opd_wreck_remove(const char *process_path)
{
    char path[512];
    path_of(path, sizeof(path), process_path);
    unlink(path);
}

const opd_wrecked_range *opd_wreck_mapping(const opd_wreck *wreck, uint64_t address)
{
    for (size_t i = 0; i < wreck->mapping_count; i++) {
        if (address >= wreck->mappings[i].start && address < wreck->mappings[i].end) {
            return &wreck->mappings[i];
        }
    }
    return NULL;
}

bool opd_wreck_word(uint64_t *word, const opd_wrecked_thread *thread, uint64_t address)
{
    uint64_t offset = address - thread->thread.stack;
    if (address < thread->thread.stack || thread->stack_bytes < sizeof(*word) ||
        offset > thread->stack_bytes - sizeof(*word)) {
        return false;
    }
    memcpy(word, thread->stack + offset, sizeof(*word));
    return true;
}

bool opd_wreck_is_inside(const opd_wrecked_thread *thread, uint64_t start, uint64_t end)
{
    uint64_t word = thread->thread.registers[OPD_REGISTER_PC];
    uint64_t at = thread->thread.registers[OPD_REGISTER_SP] & ~(uint64_t)7;
    at = at > thread->thread.stack ? at : thread->thread.stack;
    bool is_inside = word >= start && word < end;
    for (; !is_inside && opd_wreck_word(&word, thread, at); at += sizeof(word)) {
        is_inside = word >= start && word < end;
    }
    return is_inside;
}
