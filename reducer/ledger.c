// SPDX-License-Identifier: Apache-2.0
// Ledger of runs. One line per run, written with one write() at its end, so that a killed search leaves at most one torn
// line, which is skipped. Lines:
//   # section TEXT
//   PURPOSE ID PLACEMENT VERDICT OUTCOME SIGNAL BAD DISTANCE RANK INDEX... OPERAND LABEL .
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 640
#define NO_ENTRY       (-1)

typedef struct entry {
    opd_ledger_key key;
    opd_verdict verdict;
    bool is_used;
    int64_t next; /* later run of the same key */
    int64_t last; /* of the first run of a key: its latest */
    opd_failure observed;
} entry;

struct opd_ledger {
    entry *entries;
    int64_t count, capacity;
    int64_t *slots; /* open addressing: first entry of a key */
    int64_t slot_count;
    int fd;
    char *path; /* of a log made here that holds no run yet: it goes again when that stays so */
    const char *name;
};

static bool key_equal(const opd_ledger_key *a, const opd_ledger_key *b)
{
    return a->purpose == b->purpose && a->placement == b->placement && opd_digest_equal(&a->id, &b->id);
}

/* Slot of key: holds its first entry, or is empty. The table is never full. */
static int64_t *slot_of(const opd_ledger *ledger, const opd_ledger_key *key)
{
    uint64_t hash = 0;
    memcpy(&hash, key->id.bytes, sizeof(hash));
    hash = (hash ^ key->placement ^ (uint64_t)key->purpose) * 0x9e3779b97f4a7c15u;
    for (uint64_t i = hash >> 32;; i++) {
        int64_t *slot = &ledger->slots[(int64_t)(i % (uint64_t)ledger->slot_count)];
        if (*slot == NO_ENTRY || key_equal(&ledger->entries[*slot].key, key)) {
            return slot;
        }
    }
}

static opd_status rehash(opd_ledger *ledger)
{
    int64_t *slots = NULL;
    int64_t wanted = ledger->slot_count == 0 ? 256 : ledger->slot_count * 2;
    opd_status status = opd_alloc_array((void **)&slots, (size_t)wanted, sizeof(*slots));
    if (status != OPD_OK) {
        return status;
    }
    opd_free(ledger->slots);
    ledger->slots = slots;
    ledger->slot_count = wanted;
    for (int64_t i = 0; i < wanted; i++) {
        slots[i] = NO_ENTRY;
    }
    for (int64_t i = 0; i < ledger->count; i++) {
        int64_t *slot = slot_of(ledger, &ledger->entries[i].key);
        if (*slot == NO_ENTRY) {
            *slot = i;
        }
    }
    return OPD_OK;
}

static opd_status insert(opd_ledger *ledger, const entry *run)
{
    if (ledger->count * 2 >= ledger->slot_count) {
        opd_status status = rehash(ledger);
        if (status != OPD_OK) {
            return status;
        }
    }
    if (ledger->count == ledger->capacity) {
        int64_t wanted = ledger->capacity == 0 ? 64 : ledger->capacity * 2;
        opd_status status = opd_grow((void **)&ledger->entries, (size_t)wanted, sizeof(entry));
        if (status != OPD_OK) {
            return status;
        }
        ledger->capacity = wanted;
    }
    int64_t *slot = slot_of(ledger, &run->key);
    ledger->entries[ledger->count] = *run;
    ledger->entries[ledger->count].next = NO_ENTRY;
    if (*slot == NO_ENTRY) {
        *slot = ledger->count;
    } else {
        ledger->entries[ledger->entries[*slot].last].next = ledger->count;
    }
    ledger->entries[*slot].last = ledger->count;
    ledger->count++;
    return OPD_OK;
}

static int print_line(char *line, const entry *run)
{
    char id[OPD_DIGEST_TEXT];
    opd_digest_print(id, &run->key.id);
    const opd_failure *f = &run->observed;
    int rank = f->index_rank < 0 ? -1 : f->index_rank;
    int size = snprintf(line, LINE_MAX_BYTES, "%c %s %016" PRIx64 " %d %d %" PRId32 " %" PRIu64 " %" PRId64 " %d",
                        (int)run->key.purpose, id, run->key.placement, (int)run->verdict, (int)f->outcome, f->signal,
                        f->bad_count, f->distance, rank);
    for (int i = 0; i < rank; i++) {
        size += snprintf(line + size, (size_t)(LINE_MAX_BYTES - size), " %" PRId64, f->index[i]);
    }
    size += snprintf(line + size, (size_t)(LINE_MAX_BYTES - size), " %s %s .\n",
                     f->operand[0] == '\0' ? "-" : f->operand, f->label[0] == '\0' ? "-" : f->label);
    return size;
}

static bool parse_hex(uint8_t *bytes, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        const char pair[3] = { text[2 * i], text[2 * i + 1], '\0' };
        char *end = NULL;
        bytes[i] = (uint8_t)strtoul(pair, &end, 16);
        if (end != pair + 2) {
            return false;
        }
    }
    return true;
}

static bool next_number(char **cursor, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoll(*cursor, &end, 10);
    bool is_number = end != *cursor && errno == 0;
    *cursor = end;
    return is_number;
}

/* Reads one line; false for anything that is not a whole, sensible run. */
static bool parse_line(entry *run, char *line)
{
    int64_t number[6];
    char *cursor = NULL;
    memset(run, 0, sizeof(*run));
    /* "J <32 digits> <16 digits> ..." */
    if (strlen(line) < 52 || line[1] != ' ' || line[34] != ' ' ||
        !parse_hex(run->key.id.bytes, sizeof(run->key.id.bytes), line + 2)) {
        return false;
    }
    run->key.placement = strtoull(line + 35, &cursor, 16);
    if (cursor != line + 51) {
        return false;
    }
    for (int i = 0; i < 6; i++) {
        if (!next_number(&cursor, &number[i])) {
            return false;
        }
    }
    opd_failure *f = &run->observed;
    if (number[0] < 0 || number[0] > OPD_VERDICT_UNRESOLVED || number[5] < -1 || number[5] > OPD_MAX_RANK ||
        number[1] < 0 || number[1] > INT32_MAX || opd_outcome_name((opd_outcome)number[1])[0] == '?') {
        return false;
    }
    run->key.purpose = (opd_purpose)line[0];
    run->verdict = (opd_verdict)number[0];
    f->outcome = (opd_outcome)number[1];
    f->signal = (int32_t)number[2];
    f->bad_count = (uint64_t)number[3];
    f->distance = number[4];
    f->index_rank = (int32_t)number[5];
    for (int i = 0; i < f->index_rank; i++) {
        if (!next_number(&cursor, &f->index[i])) {
            return false;
        }
    }
    int used = 0; /* stays 0 when the dot is not there */
    if (sscanf(cursor, " %31s %31s .%n", f->operand, f->label, &used) != 2 || used == 0 || cursor[used] != '\0') {
        return false;
    }
    if (strcmp(f->operand, "-") == 0) {
        f->operand[0] = '\0';
    }
    if (strcmp(f->label, "-") == 0) {
        f->label[0] = '\0';
    }
    return true;
}

static opd_status read_back(opd_ledger *ledger, const char *path, const char *section)
{
    opd_mapping file;
    opd_status status = opd_mapping_open(&file, path);
    if (status != OPD_OK) {
        return status;
    }
    char head[LINE_MAX_BYTES];
    snprintf(head, sizeof(head), "# section %s", section);
    bool is_ours = false;
    size_t at = 0;
    while (at < file.size && status == OPD_OK) {
        const uint8_t *end = memchr(file.bytes + at, '\n', file.size - at);
        size_t size = end == NULL ? file.size - at : (size_t)(end - (file.bytes + at));
        char line[LINE_MAX_BYTES];
        if (size < sizeof(line)) { /* a last line that lacks only its newline is whole */
            entry run;
            memcpy(line, file.bytes + at, size);
            line[size] = '\0';
            if (line[0] == '#') {
                is_ours = strcmp(line, head) == 0;
            } else if (is_ours && parse_line(&run, line)) {
                status = insert(ledger, &run);
            }
        }
        at += size + 1;
    }
    opd_mapping_close(&file);
    return status;
}

static opd_status write_text(opd_ledger *ledger, const char *text, int size)
{
    if (ledger->fd < 0) {
        return OPD_OK;
    }
    ssize_t written = write(ledger->fd, text, (size_t)size);
    if (written != size) {
        return opd_fail(OPD_E_IO, "%s: %s", ledger->name, written < 0 ? strerror(errno) : "short write");
    }
    return OPD_OK;
}

opd_status opd_ledger_open(opd_ledger **out, const char *path, const char *section)
{
    opd_ledger *ledger = NULL;
    opd_status status = opd_alloc((void **)&ledger, sizeof(*ledger));
    if (status != OPD_OK) {
        return status;
    }
    ledger->fd = -1;
    ledger->name = path;
    status = rehash(ledger);
    if (status == OPD_OK && path != NULL) {
        status = access(path, F_OK) == 0 ? read_back(ledger, path, section) : opd_strdup(&ledger->path, path);
        if (status == OPD_OK) {
            ledger->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
            if (ledger->fd < 0) {
                status = opd_fail(OPD_E_IO, "%s: %s", path, strerror(errno));
            }
        }
        if (status == OPD_OK) {
            char head[LINE_MAX_BYTES];
            /* The leading newline ends a line that a killed search may have left torn. */
            int size = snprintf(head, sizeof(head), "\n# section %s\n", section);
            status = write_text(ledger, head, size);
        }
    }
    if (status != OPD_OK) {
        opd_ledger_close(ledger);
        return status;
    }
    *out = ledger;
    return OPD_OK;
}

void opd_ledger_close(opd_ledger *ledger)
{
    if (ledger == NULL) {
        return;
    }
    if (ledger->fd >= 0) {
        close(ledger->fd);
        if (ledger->path != NULL) {
            (void)unlink(ledger->path);
        }
    }
    opd_free(ledger->path);
    opd_free(ledger->entries);
    opd_free(ledger->slots);
    opd_free(ledger);
}

opd_ledger_count opd_ledger_counted(const opd_ledger *ledger, const opd_ledger_key *key)
{
    opd_ledger_count count = { .last = OPD_VERDICT_UNRESOLVED };
    for (int64_t i = *slot_of(ledger, key); i != NO_ENTRY; i = ledger->entries[i].next) {
        const entry *run = &ledger->entries[i];
        if (run->is_used) {
            count.runs++;
            count.same += run->verdict == OPD_VERDICT_SAME;
            count.last = run->verdict;
            count.observed = &run->observed;
        }
    }
    return count;
}

bool opd_ledger_reuse(opd_ledger *ledger, opd_verdict *verdict, opd_failure *observed, const opd_ledger_key *key)
{
    for (int64_t i = *slot_of(ledger, key); i != NO_ENTRY; i = ledger->entries[i].next) {
        entry *run = &ledger->entries[i];
        if (!run->is_used) {
            run->is_used = true;
            *verdict = run->verdict;
            *observed = run->observed;
            return true;
        }
    }
    return false;
}

opd_status opd_ledger_add(opd_ledger *ledger, const opd_ledger_key *key, opd_verdict verdict,
                          const opd_failure *observed)
{
    entry run = { .key = *key, .verdict = verdict, .is_used = true, .observed = *observed };
    opd_status status = insert(ledger, &run);
    if (status != OPD_OK || ledger->fd < 0) {
        return status;
    }
    char line[LINE_MAX_BYTES];
    int size = print_line(line, &run);
    status = write_text(ledger, line, size);
    if (status == OPD_OK) {
        opd_free(ledger->path);
        ledger->path = NULL;
    }
    return status;
}
