/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a bundle as lines and as a document. Their names come from the recorded program: they are printed as one line each. */
#include "bundle_events.h"

#include <inttypes.h>
#include <string.h>

#include "document.h"
#include "phrases.h"

#define TURNS_SHOWN  2u
#define POINTS_SHOWN 16u
#define RANGES_SHOWN 16u

static bool is_kind(const opd_event *event, const char *kind)
{
    return strcmp(event->kind, kind) == 0;
}

static void print_kind(const opd_bundle *bundle, const char *kind)
{
    char line[512];
    uint32_t count = 0;
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        if (is_kind(event, kind) && count++ < TURNS_SHOWN) {
            printf("%-12s %s (thread %u)\n", kind, opd_phrase_line(line, sizeof line, event->name), event->thread);
        }
    }
    if (count > TURNS_SHOWN) {
        printf("%-12s %u in all; --json has them\n", kind, count);
    }
}

void opd_events_print(const opd_bundle *bundle)
{
    static const char *const kinds[] = { "crash", "overhead", "budget", "drop", "mark" };
    for (size_t i = 0; i < OPD_COUNT(kinds); i++) {
        print_kind(bundle, kinds[i]);
    }
}

/* Ranges that are open in the thread when the call begins, the outermost first. */
static void print_ranges(const opd_bundle *bundle, const opd_call *call)
{
    uint32_t open[RANGES_SHOWN];
    uint32_t depth = 0;
    char line[512];
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        if (event->thread != call->thread || event->time_ns > call->begin_ns) {
            continue;
        }
        if (is_kind(event, "range-push")) {
            if (depth < RANGES_SHOWN) {
                open[depth] = i;
            }
            depth++;
        } else if (is_kind(event, "range-pop")) {
            depth -= depth > 0; /* its push is older than what the bundle has */
        }
    }
    for (uint32_t i = 0; i < depth && i < RANGES_SHOWN; i++) {
        printf("%s%s", i == 0 ? "  in range " : " > ",
               opd_phrase_line(line, sizeof line, opd_bundle_event(bundle, open[i])->name));
    }
    printf("%s", depth > 0 ? "\n" : "");
}

static void print_points(const opd_bundle *bundle, const opd_call *call)
{
    bool is_open = (call->flags & OPD_CALL_IN_FLIGHT) != 0;
    char line[512];
    uint32_t count = 0;
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        bool is_inside = event->thread == call->thread && event->time_ns >= call->begin_ns &&
                         (is_open || event->time_ns <= call->end_ns);
        if (is_inside && is_kind(event, "point") && count++ < POINTS_SHOWN) {
            printf("  stage    %s\n", opd_phrase_line(line, sizeof line, event->name));
        }
    }
    if (count > POINTS_SHOWN) {
        printf("  stage    %u in all; --json has them\n", count);
    }
}

void opd_events_print_call(const opd_bundle *bundle, const opd_call *call)
{
    print_ranges(bundle, call);
    print_points(bundle, call);
}

json_t *opd_events_document(const opd_bundle *bundle)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        json_t *object = json_object();
        opd_document_put(object, "kind", opd_document_text(event->kind));
        opd_document_put(object, "name", opd_document_text(event->name));
        opd_document_put(object, "thread", json_integer(event->thread));
        opd_document_put(object, "time_ns", opd_document_count(event->time_ns));
        opd_document_put(object, "value", json_integer(event->value));
        json_array_append_new(array, object);
    }
    return array;
}
