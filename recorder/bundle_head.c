/* SPDX-License-Identifier: Apache-2.0 */
/* How a bundle of any kind begins: its name, and what a reader must know of how its calls were taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"

#define NAME_TRIES 64 /* of names that others take at the same time */

bool opd_bundle_is_taken(const char *path)
{
    char partial[4608];
    snprintf(partial, sizeof(partial), "%s.partial", path);
    return access(partial, F_OK) == 0 || access(path, F_OK) == 0; /* in this order: the first becomes the second */
}

/*
 * From here on the name is ours alone: a bundle gets its name only from a .partial, and that one we hold. One that was finished
 * between the look at the name and the lock is there by now.
 */
static opd_status open_free(opd_writer **out, const opd_collector *collector, const char *path,
                            const opd_header_info *header)
{
    opd_writer *writer = NULL;
    opd_status status = opd_writer_open(&writer, path, header);
    if (status == OPD_OK && !collector->is_single && access(path, F_OK) == 0) {
        opd_writer_abandon(writer, false);
        return opd_fail(OPD_E_IO, "cannot create %s: there is one", path);
    }
    *out = status == OPD_OK ? writer : *out;
    return status;
}

/* What a reader must know of how the calls were taken. */
static opd_status put_notes(opd_writer *writer, const opd_control *control, opd_process *process)
{
    bool reads_operands = control->capture > OPD_CAPTURE_META;
    uint32_t missed = (uint32_t)atomic_load(&process->arena.refused);
    uint32_t unread = 0;
    for (uint32_t i = 0; i < OPD_PROCESS_THREADS; i++) {
        const opd_slot *slot = opd_session_slot(process, i);
        unread += slot != NULL ? (uint32_t)atomic_load(&slot->unread_calls) : 0;
    }
    const struct {
        bool is_due;
        uint32_t value;
        const char *format;
    } notes[] = {
        { missed > 0, missed, "%u operands so far found no room in the budget: digests and statistics alone" },
        { unread > 0, unread, "%u calls so far had no operands read, to stay within the time allowed" },
        { process->arena.is_off && control->capture >= OPD_CAPTURE_INPUTS, 0,
          "no memory was there for the data of operands: digests and statistics alone" },
        { control->sample > 1 && reads_operands, control->sample,
          "sampled: operands of one call in %u of a thread were read" },
        { control->first > 0 && reads_operands, control->first,
          "operands of the first %u calls of each kind were read" },
        { control->samples_stats != 0, OPD_SAMPLE_FIRST + OPD_SAMPLE_RANDOM,
          "sampled: statistics of larger operands are those of %u elements, no digests" },
        { control->capture == OPD_CAPTURE_COUNTS, 0, "counted: the first call of each kind of a thread has a record" },
    };
    opd_status status = OPD_OK;
    for (size_t i = 0; i < OPD_COUNT(notes) && status == OPD_OK; i++) {
        opd_event event = { .kind = "note", .time_ns = opd_now_ns(), .value = notes[i].value };
        snprintf(event.name, sizeof(event.name), notes[i].format, notes[i].value);
        status = notes[i].is_due ? opd_writer_event(writer, &event) : OPD_OK;
    }
    return status;
}

opd_status opd_bundle_begin(opd_writer **out, char *path, size_t size, const opd_collector *collector,
                            opd_watched *watched, const opd_naming *naming)
{
    const opd_control *control = collector->control;
    opd_header_info header = { .version = OPD_FORMAT_VERSION,
                               .created_realtime_ns = control->created_realtime_ns + opd_now_ns() - control->ns_base,
                               .created_monotonic_ns = opd_now_ns(),
                               .pid = (uint32_t)watched->pid };
    snprintf(header.producer, sizeof(header.producer), "ops-debug %s", OPD_VERSION);
    snprintf(header.kind, sizeof(header.kind), "%s", naming->kind);
    snprintf(header.program, sizeof(header.program), "%.255s", watched->process->program);
    snprintf(header.command, sizeof(header.command), "%.1023s", control->command);
    snprintf(header.capture, sizeof(header.capture), "%s", opd_capture_name((opd_capture)control->capture));
    opd_writer *writer = NULL;
    opd_status status;
    int tries = 0;
    do {
        naming->next(path, size, collector, watched, naming->what);
        status = open_free(&writer, collector, path, &header);
    } while (status != OPD_OK && !collector->is_single && opd_bundle_is_taken(path) && ++tries < NAME_TRIES);
    if (status != OPD_OK) {
        return status;
    }
    if (control->has_environment) {
        opd_environment_info environment = control->environment;
        environment.mxcsr = watched->process->mxcsr;
        status = opd_writer_environment(writer, &environment);
    }
    if (status == OPD_OK) {
        status = put_notes(writer, control, watched->process);
    }
    if (status != OPD_OK) {
        opd_writer_abandon(writer, true);
        return status;
    }
    *out = writer;
    return OPD_OK;
}

opd_status opd_bundle_module_of(uint32_t *number, opd_writer *writer, const opd_watched *watched, uint32_t index)
{
    const opd_shared_module *from = &watched->process->modules[index - 1];
    opd_module module = { .start = from->start, .end = from->end, .threads = from->threads };
    char path[512];
    char real[4096];
    snprintf(path, sizeof(path), "%.511s", from->path);
    bool is_resolved = realpath(path, real) != NULL && strlen(real) < sizeof(module.path);
    snprintf(module.path, sizeof(module.path), "%.511s",
             is_resolved ? real : path); /* links may point elsewhere later */
    snprintf(module.core, sizeof(module.core), "%.31s", from->core);
    snprintf(module.config, sizeof(module.config), "%.127s", from->config);
    opd_object_build_id(module.build_id, sizeof(module.build_id), module.path);
    return opd_writer_module(writer, number, &module);
}
