/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of the C API that are no calls: recipes of inputs, seeds and states of generators, inner stages. */
#include <inttypes.h>
#include <stdio.h>

#include <opsdebug/random.h>

#include "api.h"
#include "ring_note.h"

static const char *const fill_names[] = {
#define OPD_X(name, text) [OPD_FILL_##name] = (text),
    OPD_FILL_LIST(OPD_X)
#undef OPD_X
};

void opd_record_recipe(const char *operand, const opd_fill *fill)
{
    char text[OPD_EVENT_NAME];
    if (opd_api_other != NULL) {
        opd_api_other->recipe(operand, fill);
        return;
    }
    if (opd_record_enabled && operand != NULL && (size_t)fill->kind < OPD_COUNT(fill_names)) {
        /* Both ends read %a: no digit of a parameter is lost. */
        snprintf(text, sizeof(text), "%.31s %" PRIu64 " %s:%a:%a", operand, fill->stream, fill_names[fill->kind],
                 fill->a, fill->b);
        opd_api_event("recipe", text, (int64_t)fill->seed);
    }
}

void opd_record_fill(const char *operand, const opd_tensor *view, const opd_fill *fill)
{
    opd_tensor_fill(view, fill);
    opd_record_recipe(operand, fill);
}

void opd_record_generator(const char *name, uint64_t seed)
{
    if (opd_api_other != NULL) {
        opd_api_other->generator(name, seed);
        return;
    }
    opd_slot *slot = opd_api_enter(__builtin_frame_address(0));
    if (slot != NULL) {
        opd_note_put(slot, "seed", name, (int64_t)seed);
        opd_shown_keep(opd_recorder.process, name, seed);
        opd_api_leave(slot);
    }
}

bool opd_record_watch(const char *name, const void *address, uint32_t bytes)
{
    if (opd_api_other != NULL) {
        return opd_api_other->watch(name, address, bytes);
    }
    opd_slot *slot =
        address != NULL && bytes > 0 && bytes <= OPD_SHOWN_BYTES ? opd_api_enter(__builtin_frame_address(0)) : NULL;
    if (slot == NULL) {
        return false;
    }
    bool is_watched = opd_shown_watch(opd_recorder.process, name, address, bytes);
    opd_api_leave(slot);
    return is_watched;
}

void opd_record_point(const char *name, opd_dtype dtype, const void *data, int64_t count)
{
    char text[OPD_EVENT_NAME];
    opd_tensor view;
    opd_health health;
    if (opd_api_other != NULL) {
        opd_api_other->point(name, dtype, data, count);
        return;
    }
    if (!opd_record_enabled || count < 0 || opd_dtype_size(dtype) == 0 ||
        opd_tensor_contiguous(&view, dtype, 1, &count, (void *)(uintptr_t)data) != OPD_OK) {
        return;
    }
    opd_tensor_scan(&view, NULL, NULL, &health);
    uint64_t inf = health.pos_inf + health.neg_inf;
    int64_t first = health.first_nan >= 0 ? health.first_nan : health.first_inf;
    int used =
        snprintf(text, sizeof(text), "%.31s %s[%" PRId64 "]", name != NULL ? name : "", opd_dtype_name(dtype), count);
    if (health.min <= health.max) {
        used += snprintf(text + used, sizeof(text) - (size_t)used, " %.4g..%.4g", health.min, health.max);
    }
    if (first >= 0) {
        snprintf(text + used, sizeof(text) - (size_t)used, " %" PRIu64 " NaN %" PRIu64 " Inf, first at %" PRId64,
                 health.nan, inf, first);
    }
    opd_api_event("point", text, (int64_t)(health.nan + inf));
}
