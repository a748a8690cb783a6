/* SPDX-License-Identifier: Apache-2.0 */
/* The rule is an event of its own beside the call, as guard pages and expected values are. */
#include "ruling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void opd_ruling_read(opd_ruling *out, const opd_bundle *bundle, const opd_call *call)
{
    *out = (opd_ruling){ .rule = "" };
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        if (strcmp(event->kind, OPD_EVENT_RULE) != 0 || event->thread != call->thread ||
            event->value != (int64_t)call->number) {
            continue;
        }
        char *rest = NULL;
        size_t size = strcspn(event->name, " ");
        snprintf(out->rule, sizeof out->rule, "%.*s", (int)size, event->name);
        out->abs_err = strtod(event->name + size, &rest);
        out->rel_err = strtod(rest, NULL);
        return;
    }
}

opd_status opd_ruling_write(opd_writer *writer, const opd_call *call, const opd_replay_options *way)
{
    opd_event event = { .kind = OPD_EVENT_RULE, .thread = call->thread, .value = (int64_t)call->number };
    bool is_other = way->convention != NULL && way->is_convention_deciding;
    if (!is_other && !way->is_exact_data) {
        return OPD_OK;
    }
    snprintf(event.name, sizeof event.name, OPD_RULE_EXACT_DATA);
    if (is_other) {
        snprintf(event.name, sizeof event.name, "%s %.17g %.17g", way->convention, way->abs_err, way->rel_err);
    }
    return opd_writer_event(writer, &event);
}

void opd_ruling_apply(opd_replay_options *way, const opd_ruling *ruling)
{
    if (ruling->rule[0] == '\0' || way->convention != NULL) {
        return;
    }
    if (strcmp(ruling->rule, OPD_RULE_EXACT_DATA) == 0) {
        way->is_exact_data = true;
        return;
    }
    way->convention = ruling->rule;
    way->abs_err = ruling->abs_err;
    way->rel_err = ruling->rel_err;
    way->is_convention_deciding = true;
}
