/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export as a whole: reads the scene, declares processes and threads, lets every track draw, and puts the file in its place only
 * when all of it is written.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "canvas.h"

#define OUT_LIMIT ((size_t)64 << 20) /* between two pushes */

typedef struct format_row {
    const char *name;
    const char *suffix;
    const opd_writer_table *writer;
} format_row;

static const format_row formats[OPD_VIEW_FORMATS] = {
#define OPD_X(name, id, suffix) [OPD_VIEW_##name] = { #id, suffix, &opd_writer_##id },
    OPD_VIEW_LIST(OPD_X)
#undef OPD_X
};

static const opd_track *const tracks[] = {
#define OPD_TRACK(name) &opd_track_##name,
#include "tracks.def"
#undef OPD_TRACK
};

static bool is_format(opd_view_format format)
{
    return (unsigned)format < OPD_VIEW_FORMATS;
}

const char *opd_view_format_name(opd_view_format format)
{
    return is_format(format) ? formats[format].name : "?";
}

const char *opd_view_format_suffix(opd_view_format format)
{
    return is_format(format) ? formats[format].suffix : "";
}

opd_status opd_view_format_parse(opd_view_format *out, const char *name)
{
    char known[128] = "";
    size_t used = 0;

    for (int i = 0; i < OPD_VIEW_FORMATS; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            *out = (opd_view_format)i;
            return OPD_OK;
        }
        int size = snprintf(known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", formats[i].name);
        used += size > 0 && (size_t)size < sizeof(known) - used ? (size_t)size : 0;
    }
    return opd_fail(OPD_E_INVALID, "unknown format '%s'; known: %s", name, known);
}

opd_view_format opd_view_format_of_path(const char *path)
{
    size_t size = strlen(path);

    for (int i = 0; i < OPD_VIEW_FORMATS; i++) {
        size_t suffix_size = strlen(formats[i].suffix);
        if (size >= suffix_size && strcmp(path + size - suffix_size, formats[i].suffix) == 0) {
            return (opd_view_format)i;
        }
    }
    return OPD_VIEW_PERFETTO;
}

static opd_status declare_process(opd_canvas *canvas, opd_scene_process *process)
{
    const opd_header_info *header = opd_bundle_header(canvas->scene->bundle);
    bool is_recorded = process->pid == header->pid;
    const char *slash = strrchr(header->program, '/');
    const char *program = slash != NULL ? slash + 1 : header->program;
    opd_row row = { .kind = OPD_ROW_PROCESS,
                    .pid = process->pid,
                    .name = is_recorded ? program : "",
                    .command = is_recorded ? header->command : "" };

    opd_status status = opd_canvas_row(canvas, &row);
    process->track = row.id;
    return status;
}

static opd_status declare_thread(opd_canvas *canvas, opd_scene_thread *thread)
{
    opd_row row = { .kind = OPD_ROW_THREAD,
                    .parent = canvas->scene->processes[thread->process].track,
                    .pid = thread->pid,
                    .tid = thread->tid,
                    .name = thread->name };

    opd_status status = opd_canvas_row(canvas, &row);
    thread->track = row.id;
    return status;
}

static opd_status draw_all(opd_canvas *canvas, opd_scene *scene)
{
    opd_status status = canvas->writer->open(canvas);

    for (uint32_t i = 0; i < scene->process_count && status == OPD_OK; i++) {
        status = declare_process(canvas, &scene->processes[i]);
    }
    for (uint32_t i = 0; i < scene->thread_count && status == OPD_OK; i++) {
        status = declare_thread(canvas, &scene->threads[i]);
    }
    for (size_t i = 0; i < OPD_COUNT(tracks) && status == OPD_OK; i++) {
        status = tracks[i]->draw(canvas);
    }
    if (status == OPD_OK) {
        status = canvas->writer->finish(canvas);
    }
    if (status == OPD_OK) {
        status = opd_canvas_push(canvas);
    }
    canvas->writer->close(canvas);
    return status;
}

opd_status opd_view_export_sink(opd_view_report *report, const opd_bundle *bundle, opd_sink *sink,
                                opd_view_format format)
{
    opd_scene scene = { .bundle = NULL };

    if (!is_format(format)) {
        return opd_fail(OPD_E_INVALID, "unknown export format %d", (int)format);
    }
    opd_status status = opd_scene_read(&scene, bundle);
    if (status != OPD_OK) {
        return status;
    }
    opd_canvas canvas = { .scene = &scene, .writer = formats[format].writer, .sink = sink };
    canvas.report.unfinished = scene.unfinished;
    canvas.report.flows_cut = scene.flows_cut;
    opd_buffer_init(&canvas.out, OUT_LIMIT);
    status = draw_all(&canvas, &scene);
    opd_buffer_done(&canvas.out);
    opd_scene_done(&scene);
    if (status == OPD_OK) {
        *report = canvas.report;
    }
    return status;
}

/* Writes the file and closes it, whatever happens. */
static opd_status write_path(opd_view_report *report, const opd_bundle *bundle, const char *path,
                             opd_view_format format, bool is_file)
{
    opd_sink *sink = NULL;

    opd_status status = opd_sink_open_file(&sink, path);
    if (status != OPD_OK) {
        return status;
    }
    status = opd_view_export_sink(report, bundle, sink, format);
    if (status == OPD_OK && is_file) {
        status = sink->flush(sink);
    }
    opd_status closed = sink->close(sink);
    return status != OPD_OK ? status : closed;
}

opd_status opd_view_export(opd_view_report *report, const opd_bundle *bundle, const char *path, opd_view_format format)
{
    opd_view_report written;
    struct stat known;
    void *memory = NULL;

    bool is_there = stat(path, &known) == 0;
    if (is_there && S_ISDIR(known.st_mode)) {
        return opd_fail(OPD_E_IO, "%s is a directory", path);
    }
    if (is_there && !S_ISREG(known.st_mode)) {
        return write_path(report, bundle, path, format, false);
    }
    size_t size = strlen(path) + 32;
    opd_status status = opd_alloc(&memory, size);
    if (status != OPD_OK) {
        return status;
    }
    char *temporary = memory;
    (void)snprintf(temporary, size, "%s.%ld.tmp", path, (long)getpid());
    status = write_path(&written, bundle, temporary, format, true);
    if (status == OPD_OK && rename(temporary, path) != 0) {
        status = opd_fail(OPD_E_IO, "cannot rename %s to %s: %s", temporary, path, strerror(errno));
    }
    if (status == OPD_OK) {
        *report = written;
    } else {
        (void)unlink(temporary);
    }
    opd_free(memory);
    return status;
}
