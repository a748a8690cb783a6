/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of tensors: parsed, fitted, carried over to other operands by the contract's symbols, printed. */
#include "region.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip(const char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    return text;
}

/* A number from 0 on, or otherwise when none stands there. */
static bool read_number(int64_t *out, const char **text, int64_t otherwise)
{
    char *end = NULL;
    *text = skip(*text);
    if (!isdigit((unsigned char)**text)) {
        *out = otherwise;
        return true;
    }
    errno = 0;
    *out = strtoll(*text, &end, 10);
    *text = skip(end);
    return errno == 0 && *out < INT64_MAX;
}

static bool read_item(opd_region *region, const char **text)
{
    int64_t low = 0;
    int64_t high = 0;
    const char *start = skip(*text);
    int d = region->rank;
    *text = start;
    if (d == OPD_MAX_RANK || !read_number(&low, text, 0)) {
        return false;
    }
    if (strncmp(*text, "..", 2) == 0) {
        *text += 2;
        if (!read_number(&high, text, -2)) {
            return false;
        }
        region->high[d] = high + 1;
    } else if (*text == start) {
        return false;
    } else {
        region->high[d] = low + 1;
    }
    region->low[d] = low;
    region->rank++;
    return region->high[d] == -1 || region->high[d] > low;
}

opd_status opd_region_parse(opd_region *out, const char *text)
{
    opd_region region = { .rank = 0 };
    const char *at = skip(text);
    bool is_legal = *at == '[';
    at += is_legal;
    while (is_legal && *skip(at) != ']') {
        is_legal = read_item(&region, &at);
        at = skip(at);
        if (is_legal && *at == ',') {
            at++;
        } else {
            is_legal &= *at == ']';
        }
    }
    if (!is_legal || *skip(skip(at) + 1) != '\0') {
        return opd_fail(OPD_E_SYNTAX,
                        "range %s: wanted is a list such as [16, 70, 100..110], with .. for a whole dimension", text);
    }
    *out = region;
    return OPD_OK;
}

opd_status opd_region_fit(opd_region *region, const char *name, const opd_tensor *view)
{
    if (region->rank > view->rank) {
        return opd_fail(OPD_E_INVALID, "the range has %d dimensions, %s has %d", region->rank, name, view->rank);
    }
    for (int d = 0; d < view->rank; d++) {
        if (d >= region->rank) {
            region->low[d] = 0;
            region->high[d] = -1;
        }
        region->high[d] = region->high[d] == -1 ? view->shape[d] : region->high[d];
        if (region->high[d] > view->shape[d] || region->low[d] > region->high[d]) {
            return opd_fail(OPD_E_INVALID, "%lld..%lld is beyond dimension %d of %s, which has %lld",
                            (long long)region->low[d], (long long)region->high[d] - 1, d, name,
                            (long long)view->shape[d]);
        }
    }
    region->rank = view->rank;
    return OPD_OK;
}

opd_region opd_region_of(const opd_call *call, int operand, int from, const opd_region *region)
{
    const opd_tensor *view = &call->operands[operand].view;
    opd_region made = { .rank = view->rank };
    for (int d = 0; d < view->rank; d++) {
        char name[OPD_NAME];
        made.high[d] = view->shape[d];
        for (int k = 0; opd_call_axis(name, call, operand, d) && k < region->rank; k++) {
            char other[OPD_NAME];
            if (opd_call_axis(other, call, from, k) && strcmp(name, other) == 0) {
                made.low[d] = region->low[k];
                made.high[d] = region->high[k];
            }
        }
    }
    return made;
}

opd_tensor opd_region_view(const opd_tensor *view, const opd_region *region)
{
    opd_tensor part = *view;
    for (int d = 0; d < part.rank; d++) {
        part.data = (uint8_t *)part.data + region->low[d] * part.stride[d] * (int64_t)opd_dtype_size(part.dtype);
        part.shape[d] = region->high[d] - region->low[d];
    }
    return part;
}

void opd_region_print(char *text, size_t size, const char *name, const opd_region *region)
{
    size_t used = (size_t)snprintf(text, size, "%s[", name);
    for (int d = 0; d < region->rank && used < size; d++) {
        int64_t last = region->high[d] - 1;
        bool is_one = region->low[d] == last;
        used += (size_t)snprintf(text + used, size - used, "%s%lld%s", d > 0 ? ", " : "", (long long)region->low[d],
                                 is_one ? "" : "..");
        if (!is_one && used < size) {
            used += (size_t)snprintf(text + used, size - used, "%lld", (long long)last);
        }
    }
    if (used < size) {
        snprintf(text + used, size - used, "]");
    }
}
