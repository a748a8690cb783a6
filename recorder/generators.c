/* SPDX-License-Identifier: Apache-2.0 */
/* Where inputs come from, as bundles tell it: recipes in place of contents that were not kept, states of random generators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"

/* "X 0 normal:0x0p+0:0x1p+0" */
static bool parse_recipe(char operand[OPD_NAME], opd_fill *fill, const opd_event *event)
{
    const char *space = strchr(event->name, ' ');
    char *end = NULL;
    if (space == NULL || space - event->name >= OPD_NAME) {
        return false;
    }
    snprintf(operand, OPD_NAME, "%.*s", (int)(space - event->name), event->name);
    uint64_t stream = strtoull(space + 1, &end, 10);
    if (end == space + 1 || *end != ' ' || opd_fill_parse(fill, end + 1) != OPD_OK) {
        return false;
    }
    fill->seed = (uint64_t)event->value;
    fill->stream = stream;
    return true;
}

void opd_recipes_note(opd_recipes *recipes, const opd_event *event)
{
    if (strcmp(event->kind, "recipe") == 0 && recipes->count < OPD_MAX_OPERANDS &&
        parse_recipe(recipes->items[recipes->count].operand, &recipes->items[recipes->count].fill, event)) {
        recipes->count++;
    }
}

opd_status opd_recipes_put(opd_recipes *recipes, opd_writer *writer, const opd_call *call)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < recipes->count && status == OPD_OK; i++) {
        for (int k = 0; k < call->operand_count && status == OPD_OK; k++) {
            const opd_operand *operand = &call->operands[k];
            if (strcmp(operand->name, recipes->items[i].operand) == 0 && !opd_digest_is_none(&operand->before) &&
                (operand->flags & OPD_OPERAND_NOT_KEPT) != 0) {
                status = opd_writer_recipe(writer, &operand->before, &operand->view, &recipes->items[i].fill);
            }
        }
    }
    recipes->count = 0;
    return status;
}

opd_status opd_generators_put(opd_writer *writer, const opd_process *process)
{
    uint32_t count = atomic_load(&process->shown_count);
    opd_status status = OPD_OK;
    for (uint32_t i = 0; i < count && i < OPD_SHOWN_COUNT && status == OPD_OK; i++) {
        opd_event event = { .kind = "state", .thread = (uint32_t)process->pid, .time_ns = opd_now_ns() };
        uint8_t bytes[OPD_SHOWN_BYTES];
        char text[OPD_DIGEST_TEXT];
        opd_tensor view;
        const opd_shown *watch = &process->shown[i];
        int64_t size = watch->bytes;
        if (atomic_load(&watch->is_set) == 0 || size > (int64_t)sizeof(bytes) ||
            opd_tensor_contiguous(&view, OPD_U8, 1, &size, bytes) != OPD_OK) {
            continue;
        }
        if (watch->address == 0) {
            snprintf(event.kind, sizeof(event.kind), "seed");
            snprintf(event.name, sizeof(event.name), "%.*s", (int)sizeof(watch->name) - 1, watch->name);
            memcpy(&event.value, watch->state, sizeof(event.value));
            status = opd_writer_event(writer, &event);
            continue;
        }
        memcpy(bytes, watch->state, (size_t)size); /* the process may go on writing: one copy is digested and stored */
        opd_digest digest = opd_tensor_digest(&view);
        opd_digest_print(text, &digest);
        snprintf(event.name, sizeof(event.name), "%.*s %s", (int)sizeof(watch->name) - 1, watch->name, text);
        event.value = size;
        status = opd_writer_tensor(writer, &digest, &view, bytes);
        if (status == OPD_OK) {
            status = opd_writer_event(writer, &event);
        }
    }
    return status;
}
