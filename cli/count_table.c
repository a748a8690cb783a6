/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of calls as a table and as a document. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "count_table.h"
#include "document.h"
#include "phrases.h"
#include "screen.h"

#define SHOWN_COUNTS 24u

/* The recorded call that stands for the others; false: it is in no bundle, or in that of a collector that was killed. */
static bool find_call(opd_call *call, const opd_bundle *bundle, const opd_count *count)
{
    uint64_t position = 0;
    return opd_bundle_find_call(&position, bundle, count->thread, count->number) == OPD_OK &&
           opd_bundle_call(call, bundle, position) == OPD_OK;
}

static int by_time(const void *left, const void *right)
{
    const opd_count *a = left;
    const opd_count *b = right;
    if (a->ns != b->ns) {
        return (a->ns < b->ns) - (a->ns > b->ns);
    }
    return a->calls != b->calls ? (a->calls < b->calls) - (a->calls > b->calls)
                                : (a->number > b->number) - (a->number < b->number);
}

static void add_row(opd_table *table, const opd_bundle *bundle, const opd_count *count)
{
    opd_call call;
    char words[512];
    opd_table_row(table);
    opd_table_cell(table, 0, "%u", count->thread);
    opd_table_cell(table, 1, "%" PRIu64, count->calls);
    if (count->ns > 0) { /* else no call of it ended */
        opd_phrase_time(words, sizeof words, count->ns);
        opd_table_cell(table, 2, "%s", words);
        opd_phrase_time(words, sizeof words, count->ns / (count->calls > 0 ? count->calls : 1));
        opd_table_cell(table, 3, "%s", words);
    }
    if (!find_call(&call, bundle, count)) {
        opd_table_cell(table, 4, "call %" PRIu64 ", which is not in this bundle", count->number);
        return;
    }
    if (count->is_rest) {
        opd_table_cell(table, 4, "%s in all other forms", call.name);
        return;
    }
    opd_call_describe(words, sizeof words, &call);
    opd_table_cell(table, 4, "%s", words);
    opd_phrase_flags(words, sizeof words, &call);
    opd_table_cell(table, 5, "%s", words);
}

opd_status opd_counts_print(const opd_bundle *bundle, bool with_all)
{
    static const char *const titles[] = { ">THREAD", ">CALLS", ">TIME", ">EACH", "OPERATOR", "NOTE" };
    uint32_t count = opd_bundle_count_count(bundle);
    uint32_t shown = with_all || count < SHOWN_COUNTS ? count : SHOWN_COUNTS;
    void *block = NULL;
    opd_table *table = NULL;
    if (count == 0) {
        return OPD_OK;
    }
    opd_status status = opd_alloc_array(&block, count, sizeof(opd_count));
    if (status != OPD_OK) {
        return status;
    }
    opd_count *sorted = block;
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = *opd_bundle_count(bundle, i);
    }
    qsort(sorted, count, sizeof sorted[0], by_time);
    status = opd_table_new(&table, titles, OPD_COUNT(titles));
    for (uint32_t i = 0; i < shown && status == OPD_OK; i++) {
        add_row(table, bundle, &sorted[i]);
    }
    if (status == OPD_OK) {
        status = opd_table_print(table);
    }
    if (status == OPD_OK && shown < count) {
        printf("%u of %u kinds of calls; --all shows every one\n", shown, count);
    }
    opd_free(block);
    return status;
}

json_t *opd_counts_document(const opd_bundle *bundle)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < opd_bundle_count_count(bundle); i++) {
        const opd_count *count = opd_bundle_count(bundle, i);
        json_t *object = json_object();
        opd_call call;
        opd_document_put(object, "thread", json_integer(count->thread));
        opd_document_put(object, "number", opd_document_count(count->number));
        opd_document_put(object, "calls", opd_document_count(count->calls));
        opd_document_put(object, "ns", opd_document_count(count->ns));
        opd_document_put(object, "is_rest", json_boolean(count->is_rest));
        if (find_call(&call, bundle, count)) {
            char words[512];
            opd_document_put(object, "name", opd_document_text(call.name));
            opd_call_describe(words, sizeof words, &call);
            opd_document_put(object, "kind", opd_document_text(words));
        }
        json_array_append_new(array, object);
    }
    return array;
}
