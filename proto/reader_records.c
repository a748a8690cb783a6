/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an opened bundle answers: the small records it decoded, and calls, decoded a batch at a time.
 */
#include <inttypes.h>
#include <string.h>

#include "capped.h"
#include "reader.h"

/* Room for one more item, zeroed. */
static opd_status append(void **array, const size_t *count, size_t *capacity, size_t size, void **item)
{
    if (*count == *capacity) {
        size_t grown = *capacity ? *capacity * 2 : 16;
        opd_status status = opd_grow(array, grown, size);
        if (status != OPD_OK) {
            return status;
        }
        *capacity = grown;
    }
    *item = (char *)*array + *count * size;
    memset(*item, 0, size);
    return OPD_OK;
}

#define APPEND(bundle, list, count, capacity, item) \
    append((void **)&(bundle)->list, &(bundle)->count, &(bundle)->capacity, sizeof(*(bundle)->list), (void **)(item))

static opd_status take_header(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    opd_header_info header = { 0 };
    opd_status status = info_get_header(&header, parts->message, parts->message_size);

    (void)entry;
    if (status == OPD_OK && header.version > OPD_FORMAT_VERSION) {
        return opd_fail(OPD_E_VERSION, "format version %u; this program reads up to %d", header.version,
                        OPD_FORMAT_VERSION);
    }
    if (status == OPD_OK && !bundle->has_header) {
        bundle->header = header;
        bundle->has_header = true;
    }
    return status;
}

static opd_status take_environment(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    (void)entry;
    opd_status status = info_get_environment(&bundle->environment, parts->message, parts->message_size);
    bundle->has_environment = bundle->has_environment || status == OPD_OK;
    return status;
}

/* Modules stand at their number, so that a lost one does not renumber the others. */
static opd_status take_module(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    opd_module module = { 0 };
    opd_module *item = NULL;
    uint32_t number = 0;
    opd_status status = info_get_module(&module, &number, parts->message, parts->message_size);

    (void)entry;
    if (status != OPD_OK) {
        return status;
    }
    if (number == 0 || number > bundle->index.count) {
        return opd_fail(OPD_E_FORMAT, "module number %u", number);
    }
    while (bundle->module_count < number) {
        status = APPEND(bundle, modules, module_count, module_capacity, &item);
        if (status != OPD_OK) {
            return status;
        }
        bundle->module_count++;
    }
    bundle->modules[number - 1] = module;
    return OPD_OK;
}

static opd_status take_thread(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    opd_thread_info *item = NULL;
    opd_status status = APPEND(bundle, threads, thread_count, thread_capacity, &item);

    (void)entry;
    if (status == OPD_OK) {
        status = info_get_thread(item, parts->message, parts->message_size);
    }
    bundle->thread_count += status == OPD_OK;
    return status;
}

static opd_status take_event(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    opd_event *item = NULL;
    opd_status status = APPEND(bundle, events, event_count, event_capacity, &item);

    (void)entry;
    if (status == OPD_OK) {
        status = info_get_event(item, parts->message, parts->message_size);
    }
    bundle->event_count += status == OPD_OK;
    return status;
}

static opd_status take_failure(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    opd_failure *item = NULL;
    opd_status status = APPEND(bundle, failures, failure_count, failure_capacity, &item);

    (void)entry;
    if (status == OPD_OK) {
        status = info_get_failure(item, parts->message, parts->message_size);
    }
    bundle->failure_count += status == OPD_OK;
    return status;
}

static opd_status take_backtrace(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    opd_backtrace *item = NULL;
    opd_status status = APPEND(bundle, backtraces, backtrace_count, backtrace_capacity, &item);

    (void)entry;
    if (status == OPD_OK) {
        status = info_get_backtrace(item, parts->message, parts->message_size);
    }
    bundle->backtrace_count += status == OPD_OK;
    return status;
}

/* The last one counts: a bundle is of one failure. */
static opd_status take_crash(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    (void)entry;
    opd_status status = info_get_crash(&bundle->crash, parts->message, parts->message_size);
    bundle->has_crash = bundle->has_crash || status == OPD_OK;
    return status;
}

static opd_status take_count(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    opd_count *item = NULL;
    opd_status status = APPEND(bundle, counts, count_count, count_capacity, &item);

    (void)entry;
    if (status == OPD_OK) {
        status = info_get_count(item, parts->message, parts->message_size);
    }
    bundle->count_count += status == OPD_OK;
    return status;
}

static opd_status take_lineage(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    opd_lineage *item = NULL;
    opd_status status = APPEND(bundle, lineage, lineage_count, lineage_capacity, &item);

    (void)entry;
    if (status == OPD_OK) {
        status = info_get_lineage(item, parts->message, parts->message_size);
    }
    bundle->lineage_count += status == OPD_OK;
    return status;
}

static opd_status take_batch(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry)
{
    opd_batch_place *item = NULL;
    opd_status status = APPEND(bundle, places, place_count, place_capacity, &item);

    (void)parts;
    if (status == OPD_OK) {
        *item = (opd_batch_place){ .first_call = bundle->call_count,
                                   .calls = bundle->index.entries[entry].detail,
                                   .entry = entry };
        bundle->call_count += item->calls;
        bundle->place_count++;
    }
    return status;
}

typedef opd_status take_fn(opd_bundle *bundle, const opd_frame_parts *parts, uint32_t entry);

/* Kinds this build knows; those with no function are read when asked for. */
static const struct {
    uint32_t kind;
    take_fn *take;
} kinds[] = {
    { KIND_HEADER, take_header },
    { KIND_ENVIRONMENT, take_environment },
    { KIND_MODULE, take_module },
    { KIND_THREAD, take_thread },
    { KIND_BATCH, take_batch },
    { KIND_EVENT, take_event },
    { KIND_FAILURE, take_failure },
    { KIND_BACKTRACE, take_backtrace },
    { KIND_CRASH, take_crash },
    { KIND_LINEAGE, take_lineage },
    { KIND_COUNT, take_count },
    { KIND_TENSOR, NULL },
    { KIND_TIMELINE, NULL },
    { KIND_INDEX, NULL },
    { KIND_END, NULL },
};

bool reader_knows(uint32_t kind)
{
    for (size_t i = 0; i < OPD_COUNT(kinds); i++) {
        if (kinds[i].kind == kind) {
            return true;
        }
    }
    return false;
}

opd_status reader_take(opd_bundle *bundle, const opd_frame_view *frame, uint32_t entry)
{
    opd_frame_parts parts;
    opd_status status = frame_split(&parts, frame);

    for (size_t i = 0; status == OPD_OK && i < OPD_COUNT(kinds); i++) {
        if (kinds[i].kind == frame->kind && kinds[i].take) {
            return kinds[i].take(bundle, &parts, entry);
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------------- calls */

uint64_t opd_bundle_call_count(const opd_bundle *bundle)
{
    return bundle->call_count;
}

/* The batch that holds a position; the caller has checked that there is one. */
static size_t find_place(const opd_bundle *bundle, uint64_t position)
{
    size_t low = 0;
    size_t high = bundle->place_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (bundle->places[middle].first_call <= position) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Decodes the place-th batch into the cache; the lock is held. */
static opd_status load_batch(const opd_bundle *bundle, size_t place)
{
    opd_reader_cache *cache = bundle->cache;
    opd_frame_view frame;
    opd_frame_parts parts;

    if (cache->place == (int64_t)place) {
        return OPD_OK;
    }
    cache->place = -1;
    batch_done(&cache->batch);
    opd_status status = reader_frame(&frame, bundle, bundle->places[place].entry);
    if (status == OPD_OK) {
        status = frame_split(&parts, &frame);
    }
    if (status == OPD_OK) {
        status = batch_decode(&cache->batch, parts.message, parts.message_size);
    }
    if (status == OPD_OK && cache->batch.count != bundle->places[place].calls) {
        status = opd_fail(OPD_E_FORMAT, "%zu calls where the index says %u", cache->batch.count,
                          bundle->places[place].calls);
    }
    if (status != OPD_OK) {
        batch_done(&cache->batch);
        return opd_fail_in(status, "record at offset %" PRIu64,
                           bundle->index.entries[bundle->places[place].entry].offset);
    }
    cache->place = (int64_t)place;
    return OPD_OK;
}

opd_status opd_bundle_call(opd_call *out, const opd_bundle *bundle, uint64_t position)
{
    if (position >= bundle->call_count) {
        return opd_fail(OPD_E_NOTFOUND, "%s: no call at position %" PRIu64 ": it has %" PRIu64, bundle->path, position,
                        bundle->call_count);
    }
    size_t place = find_place(bundle, position);
    pthread_mutex_lock(&bundle->cache->lock);
    opd_status status = load_batch(bundle, place);
    if (status == OPD_OK) {
        status = batch_call(out, &bundle->cache->batch, (size_t)(position - bundle->places[place].first_call));
    }
    pthread_mutex_unlock(&bundle->cache->lock);
    return status;
}

/* Position in the batch in the cache, or -1. */
static int64_t find_in_batch(const opd_batch *batch, uint32_t thread, uint64_t number)
{
    for (size_t i = batch->count; i-- > 0;) {
        if (batch->rows[i].number == number && batch->threads[batch->rows[i].thread].tid == thread) {
            return (int64_t)i;
        }
    }
    return -1;
}

opd_status opd_bundle_find_call(uint64_t *position, const opd_bundle *bundle, uint32_t thread, uint64_t number)
{
    /* From the end: what is looked for is mostly the failing call. A batch that cannot be read holds no call. */
    for (size_t place = bundle->place_count; place-- > 0;) {
        int64_t found = -1;
        pthread_mutex_lock(&bundle->cache->lock);
        opd_status status = load_batch(bundle, place);
        if (status == OPD_OK) {
            found = find_in_batch(&bundle->cache->batch, thread, number);
        }
        pthread_mutex_unlock(&bundle->cache->lock);
        if (status == OPD_E_NOMEM) {
            return status;
        }
        if (found >= 0) {
            *position = bundle->places[place].first_call + (uint64_t)found;
            return OPD_OK;
        }
    }
    return opd_fail(OPD_E_NOTFOUND, "%s: no call %" PRIu64 " of thread %u", bundle->path, number, thread);
}

/* ------------------------------------------------------------------------------------------------ the rest */

const opd_bundle_state *opd_bundle_state_of(const opd_bundle *bundle)
{
    return &bundle->cache->state;
}

const char *opd_bundle_path(const opd_bundle *bundle)
{
    return bundle->path;
}

const opd_header_info *opd_bundle_header(const opd_bundle *bundle)
{
    return &bundle->header;
}

const opd_environment_info *opd_bundle_environment(const opd_bundle *bundle)
{
    return bundle->has_environment ? &bundle->environment : NULL;
}

uint32_t opd_bundle_module_count(const opd_bundle *bundle)
{
    return (uint32_t)bundle->module_count;
}

const opd_module *opd_bundle_module(const opd_bundle *bundle, uint32_t number)
{
    return number > 0 && number <= bundle->module_count ? &bundle->modules[number - 1] : NULL;
}

uint32_t opd_bundle_failure_count(const opd_bundle *bundle)
{
    return (uint32_t)bundle->failure_count;
}

const opd_failure *opd_bundle_failure(const opd_bundle *bundle, uint32_t index)
{
    return index < bundle->failure_count ? &bundle->failures[index] : NULL;
}

uint32_t opd_bundle_event_count(const opd_bundle *bundle)
{
    return (uint32_t)bundle->event_count;
}

const opd_event *opd_bundle_event(const opd_bundle *bundle, uint32_t index)
{
    return index < bundle->event_count ? &bundle->events[index] : NULL;
}

static const opd_backtrace *find_backtrace(const opd_bundle *bundle, uint32_t thread)
{
    for (size_t i = bundle->backtrace_count; i-- > 0;) {
        if (bundle->backtraces[i].stack.thread == thread) {
            return &bundle->backtraces[i];
        }
    }
    return NULL;
}

uint32_t opd_bundle_frame_count(const opd_bundle *bundle, uint32_t thread)
{
    const opd_backtrace *backtrace = find_backtrace(bundle, thread);

    return backtrace ? backtrace->stack.frame_count : 0;
}

const opd_frame *opd_bundle_frame(const opd_bundle *bundle, uint32_t thread, uint32_t index)
{
    const opd_backtrace *backtrace = find_backtrace(bundle, thread);

    return backtrace && index < backtrace->stack.frame_count ? &backtrace->frames[index] : NULL;
}

uint32_t opd_bundle_stack_count(const opd_bundle *bundle)
{
    return (uint32_t)bundle->backtrace_count;
}

const opd_stack *opd_bundle_stack(const opd_bundle *bundle, uint32_t index)
{
    return index < bundle->backtrace_count ? &bundle->backtraces[index].stack : NULL;
}

const opd_crash_info *opd_bundle_crash(const opd_bundle *bundle)
{
    return bundle->has_crash ? &bundle->crash : NULL;
}

uint32_t opd_bundle_count_count(const opd_bundle *bundle)
{
    return (uint32_t)bundle->count_count;
}

const opd_count *opd_bundle_count(const opd_bundle *bundle, uint32_t index)
{
    return index < bundle->count_count ? &bundle->counts[index] : NULL;
}

uint32_t opd_bundle_lineage_count(const opd_bundle *bundle)
{
    return (uint32_t)bundle->lineage_count;
}

const opd_lineage *opd_bundle_lineage(const opd_bundle *bundle, uint32_t index)
{
    return index < bundle->lineage_count ? &bundle->lineage[index] : NULL;
}

uint32_t opd_bundle_thread_count(const opd_bundle *bundle)
{
    return (uint32_t)bundle->thread_count;
}

const char *opd_bundle_thread(const opd_bundle *bundle, uint32_t index, uint32_t *pid, uint32_t *tid)
{
    if (index >= bundle->thread_count) {
        return NULL;
    }
    *pid = bundle->threads[index].pid;
    *tid = bundle->threads[index].tid;
    return bundle->threads[index].name;
}
