/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of oneDNN's memory descriptors as text: dimensions by letters in the order of their strides, capital where they come in blocks, then the blocks
 * from the outer to the inner ("aBcd8b", as oneDNN's own tags), explicit strides only where that order alone does not give them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_form.h"

static const struct {
    opd_dtype ours;
    dnnl_data_type_t theirs;
} dtypes[] = {
    { OPD_F16, dnnl_f16 }, { OPD_BF16, dnnl_bf16 }, { OPD_F32, dnnl_f32 },
    { OPD_I32, dnnl_s32 }, { OPD_I8, dnnl_s8 },     { OPD_U8, dnnl_u8 },
};

opd_dtype opd_dnnl_dtype_from(dnnl_data_type_t dtype)
{
    for (size_t i = 0; i < OPD_COUNT(dtypes); i++) {
        if (dtypes[i].theirs == dtype) {
            return dtypes[i].ours;
        }
    }
    return OPD_DTYPE_NONE;
}

dnnl_data_type_t opd_dnnl_dtype_to(opd_dtype dtype)
{
    for (size_t i = 0; i < OPD_COUNT(dtypes); i++) {
        if (dtypes[i].ours == dtype) {
            return dtypes[i].theirs;
        }
    }
    return dnnl_data_type_undef;
}

/* Elements of a dimension that one block of all its blocks holds. */
static int64_t block_of(const opd_dnnl_layout *layout, int dim)
{
    int64_t product = 1;
    for (int i = 0; i < layout->block_count; i++) {
        product *= layout->block_dims[i] == dim ? layout->blocks[i] : 1;
    }
    return product;
}

static int64_t inner_of(const opd_dnnl_layout *layout)
{
    int64_t product = 1;
    for (int i = 0; i < layout->block_count; i++) {
        product *= layout->blocks[i];
    }
    return product;
}

bool opd_dnnl_layout_sizes(int64_t *padded, int64_t *strides, const opd_dnnl_layout *layout, const int64_t *dims)
{
    bool fits = true;
    int64_t stride = inner_of(layout);
    for (int d = 0; d < layout->rank; d++) {
        int64_t block = block_of(layout, d);
        int64_t blocks = block > 0 ? dims[d] / block + (dims[d] % block != 0) : 0;
        fits = fits && block > 0 && opd_mul_i64(&padded[d], blocks, block);
    }
    for (int i = layout->rank - 1; i >= 0 && fits; i--) {
        int d = layout->order[i];
        strides[d] = layout->has_strides ? layout->strides[d] : stride;
        int64_t outer = padded[d] / block_of(layout, d);
        fits = opd_mul_i64(&stride, stride, outer > 0 ? outer : 1);
    }
    return fits;
}

/* Larger strides come first; of equal ones the longer dimension, as only those of size 1 can be inside it. */
static void sort_dims(opd_dnnl_layout *layout, const int64_t *strides, const int64_t *sizes)
{
    for (int i = 0; i < layout->rank; i++) {
        int at = i;
        for (; at > 0; at--) {
            int before = layout->order[at - 1];
            bool is_after = strides[i] > strides[before] || (strides[i] == strides[before] && sizes[i] > sizes[before]);
            if (!is_after) {
                break;
            }
            layout->order[at] = before;
        }
        layout->order[at] = i;
    }
}

#define COMPENSATIONS \
    (dnnl_memory_extra_flag_compensation_conv_s8s8 | dnnl_memory_extra_flag_compensation_conv_asymmetric_src)

/* Weights whose sums stand behind them, and nothing else that is said of no element. */
static bool has_known_extra(const dnnl_memory_desc_t *desc)
{
    const uint64_t known = COMPENSATIONS | dnnl_memory_extra_flag_scale_adjust;
    return desc->extra.flags == 0 || ((desc->extra.flags & ~known) == 0 && desc->data_type == dnnl_s8);
}

static bool is_simple(const dnnl_memory_desc_t *desc)
{
    bool is_simple = desc->format_kind == dnnl_blocked && has_known_extra(desc) && desc->ndims > 0 &&
                     desc->ndims <= DNNL_MAX_NDIMS && opd_dnnl_dtype_from(desc->data_type) != OPD_DTYPE_NONE;
    for (int d = 0; is_simple && d < desc->ndims; d++) {
        is_simple = desc->padded_offsets[d] == 0 && desc->dims[d] >= 0 && desc->format_desc.blocking.strides[d] >= 0;
    }
    return is_simple && desc->format_desc.blocking.inner_nblks >= 0 &&
           desc->format_desc.blocking.inner_nblks <= DNNL_MAX_NDIMS;
}

bool opd_dnnl_layout_of(opd_dnnl_layout *out, const dnnl_memory_desc_t *desc)
{
    const dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;
    opd_dnnl_layout layout = { .rank = desc->ndims };
    int64_t outer[DNNL_MAX_NDIMS];
    int64_t padded[DNNL_MAX_NDIMS];
    int64_t strides[DNNL_MAX_NDIMS];
    if (!is_simple(desc)) {
        return false;
    }
    layout.block_count = blocking->inner_nblks;
    for (int i = 0; i < layout.block_count; i++) {
        layout.blocks[i] = blocking->inner_blks[i];
        layout.block_dims[i] = (int)blocking->inner_idxs[i];
    }
    for (int d = 0; d < layout.rank; d++) {
        outer[d] = desc->padded_dims[d] / block_of(&layout, d);
        layout.strides[d] = blocking->strides[d];
    }
    sort_dims(&layout, layout.strides, outer);
    if (!opd_dnnl_layout_sizes(padded, strides, &layout, desc->dims)) {
        return false;
    }
    for (int d = 0; d < layout.rank; d++) {
        layout.has_strides |= strides[d] != layout.strides[d];
        if (padded[d] != desc->padded_dims[d]) {
            return false;
        }
    }
    layout.extra = desc->extra;
    *out = layout;
    return layout.extra.flags == 0 || !layout.has_strides;
}

bool opd_dnnl_layout_print(char text[OPD_DNNL_LAYOUT_TEXT], const opd_dnnl_layout *layout)
{
    char line[512];
    size_t used = 0;
    for (int i = 0; i < layout->rank; i++) {
        int dim = layout->order[i];
        line[used++] = (char)((block_of(layout, dim) > 1 ? 'A' : 'a') + dim);
    }
    line[used] = '\0';
    for (int i = 0; i < layout->block_count; i++) {
        used += (size_t)snprintf(line + used, sizeof line - used, "%lld%c", (long long)layout->blocks[i],
                                 'a' + layout->block_dims[i]);
    }
    for (int d = 0; layout->has_strides && d < layout->rank; d++) {
        used += (size_t)snprintf(line + used, sizeof line - used, "%c%lld", d == 0 ? ':' : ',',
                                 (long long)layout->strides[d]);
    }
    if (layout->extra.flags != 0) {
        used += (size_t)snprintf(line + used, sizeof line - used, "+%u/%d/%.9g/%d", (unsigned)layout->extra.flags,
                                 layout->extra.compensation_mask, (double)layout->extra.scale_adjust,
                                 layout->extra.asymm_compensation_mask);
    }
    if (layout->broadcast != 0) {
        used += (size_t)snprintf(line + used, sizeof line - used, "*%u", layout->broadcast);
    }
    if (used >= OPD_DNNL_LAYOUT_TEXT) {
        return false;
    }
    memcpy(text, line, used + 1);
    return true;
}

static bool parse_order(opd_dnnl_layout *layout, const char **text)
{
    uint32_t seen = 0;
    for (; (**text >= 'a' && **text < 'a' + DNNL_MAX_NDIMS) || (**text >= 'A' && **text < 'A' + DNNL_MAX_NDIMS);
         (*text)++) {
        int dim = **text >= 'a' ? **text - 'a' : **text - 'A';
        if ((seen >> dim & 1) != 0) {
            return false;
        }
        seen |= UINT32_C(1) << dim;
        layout->order[layout->rank++] = dim;
    }
    return layout->rank > 0 && seen == (UINT32_C(1) << layout->rank) - 1;
}

static bool parse_blocks(opd_dnnl_layout *layout, const char **text)
{
    int64_t product = 1;
    while (**text >= '0' && **text <= '9') {
        char *end = NULL;
        int64_t block = strtoll(*text, &end, 10);
        int dim = *end - 'a';
        if (block < 1 || block > 4096 || dim < 0 || dim >= layout->rank || layout->block_count == DNNL_MAX_NDIMS ||
            product > (INT64_C(1) << 24) / block) {
            return false;
        }
        product *= block;
        layout->blocks[layout->block_count] = block;
        layout->block_dims[layout->block_count++] = dim;
        *text = end + 1;
    }
    return true;
}

/* "+flags/mask/factor/mask" */
static bool parse_extra(opd_dnnl_layout *layout, const char **text)
{
    const char *at = *text + 1;
    char *end[4] = { NULL };
    unsigned long flags = strtoul(at, &end[0], 10);
    bool is_whole = end[0] > at && *end[0] == '/';
    long mask = is_whole ? strtol(end[0] + 1, &end[1], 10) : 0;
    is_whole = is_whole && *end[1] == '/';
    float factor = is_whole ? strtof(end[1] + 1, &end[2]) : 0;
    is_whole = is_whole && *end[2] == '/';
    long shifted = is_whole ? strtol(end[2] + 1, &end[3], 10) : 0;
    const long limit = 1L << DNNL_MAX_NDIMS;
    if (!is_whole || flags == 0 ||
        (flags & ~(unsigned long)(COMPENSATIONS | dnnl_memory_extra_flag_scale_adjust)) != 0 || mask < 0 ||
        mask >= limit || shifted < 0 || shifted >= limit || layout->has_strides) {
        return false;
    }
    layout->extra.flags = flags;
    layout->extra.compensation_mask = (int)mask;
    layout->extra.scale_adjust = factor;
    layout->extra.asymm_compensation_mask = (int)shifted;
    *text = end[3];
    return true;
}

bool opd_dnnl_layout_parse(opd_dnnl_layout *out, const char *text)
{
    opd_dnnl_layout layout = { .rank = 0 };
    char *end = NULL;
    if (!parse_order(&layout, &text) || !parse_blocks(&layout, &text)) {
        return false;
    }
    layout.has_strides = *text == ':';
    for (int d = 0; layout.has_strides && d < layout.rank; d++) {
        if (*text != (d == 0 ? ':' : ',')) {
            return false;
        }
        layout.strides[d] = strtoll(text + 1, &end, 10);
        if (end == text + 1 || layout.strides[d] < 0) {
            return false;
        }
        text = end;
    }
    if (*text == '+' && !parse_extra(&layout, &text)) {
        return false;
    }
    if (*text == '*') {
        layout.broadcast = (uint32_t)strtoul(text + 1, &end, 10);
        text = end;
    }
    *out = layout;
    return *text == '\0';
}

/*
 * Bytes in a row: those of the elements, to a multiple of four, and room for three sums of four bytes for each channel of the mask, which is that of signed
 * sources where there are such: so much the library's dnnl_memory_desc_get_size says, whichever of the sums there are.
 */
static bool extra_view(opd_tensor *view, const opd_dnnl_layout *layout, const int64_t *padded)
{
    bool is_signed = (layout->extra.flags & dnnl_memory_extra_flag_compensation_conv_s8s8) != 0;
    bool has_sums = (layout->extra.flags & COMPENSATIONS) != 0;
    int mask = is_signed ? layout->extra.compensation_mask : layout->extra.asymm_compensation_mask;
    int64_t channels = has_sums ? opd_dnnl_quant_count(mask, padded, layout->rank) : 0;
    int64_t sums = 0;
    int64_t bytes = 1;
    bool fits = opd_dtype_size(view->dtype) == 1 && channels >= 0 && opd_mul_i64(&sums, channels, 12);
    for (int d = 0; d < layout->rank && fits; d++) {
        fits = opd_mul_i64(&bytes, bytes, padded[d]);
    }
    fits = fits && bytes < INT64_MAX - 4 && opd_add_i64(&bytes, has_sums ? (bytes + 3) / 4 * 4 : bytes, sums);
    view->rank = 1;
    view->shape[0] = fits ? bytes : 0;
    view->stride[0] = 1;
    return fits && opd_tensor_check(view) == OPD_OK;
}

bool opd_dnnl_layout_view(opd_tensor *view, const opd_dnnl_layout *layout, const int64_t *dims)
{
    int64_t padded[DNNL_MAX_NDIMS];
    int64_t strides[DNNL_MAX_NDIMS];
    int64_t inner = inner_of(layout);
    if (!opd_dnnl_layout_sizes(padded, strides, layout, dims)) {
        return false;
    }
    memset(view->shape, 0, sizeof view->shape);
    memset(view->stride, 0, sizeof view->stride);
    memset(&view->mask, 0, sizeof view->mask);
    if (layout->extra.flags != 0) {
        return extra_view(view, layout, padded);
    }
    if (layout->rank + layout->block_count > OPD_MAX_RANK) { /* the elements in a row, padding and all */
        view->rank = 1;
        view->shape[0] = 1;
        view->stride[0] = 1;
        for (int d = 0; d < layout->rank; d++) {
            if (layout->has_strides || !opd_mul_i64(&view->shape[0], view->shape[0], padded[d])) {
                return false;
            }
        }
        return opd_tensor_check(view) == OPD_OK;
    }
    view->rank = layout->rank + layout->block_count;
    for (int d = 0; d < layout->rank; d++) {
        view->shape[d] = padded[d] / block_of(layout, d);
        view->stride[d] = strides[d];
    }
    for (int i = 0; i < layout->block_count; i++) {
        inner /= layout->blocks[i];
        view->shape[layout->rank + i] = layout->blocks[i];
        view->stride[layout->rank + i] = inner;
    }
    return opd_tensor_check(view) == OPD_OK;
}

bool opd_dnnl_layout_dims(int64_t *dims, const opd_dnnl_layout *layout, const opd_tensor *view)
{
    bool is_shown = layout->rank + layout->block_count == view->rank;
    for (int d = 0; d < layout->rank && is_shown; d++) {
        is_shown = opd_mul_i64(&dims[d], view->shape[d], block_of(layout, d));
    }
    return is_shown;
}

bool opd_dnnl_layout_covers(const opd_tensor *view, const opd_dnnl_layout *layout, const int64_t *dims)
{
    opd_tensor bound = *view;
    return opd_dnnl_layout_view(&bound, layout, dims) && opd_tensor_same_places(&bound, view) &&
           view->mask.kind == OPD_MASK_NONE;
}

int64_t opd_dnnl_layout_offset(const opd_dnnl_layout *layout, const int64_t *strides, const int64_t *index)
{
    int64_t offset = 0;
    int64_t rest[DNNL_MAX_NDIMS];
    int64_t stride = 1;
    memcpy(rest, index, (size_t)layout->rank * sizeof rest[0]);
    for (int i = layout->block_count - 1; i >= 0; i--) {
        int dim = layout->block_dims[i];
        offset += rest[dim] % layout->blocks[i] * stride;
        rest[dim] /= layout->blocks[i];
        stride *= layout->blocks[i];
    }
    for (int d = 0; d < layout->rank; d++) {
        offset += rest[d] * strides[d];
    }
    return offset;
}

/* ------------------------------------------------------------------------------------------------- and back */

opd_status opd_dnnl_places_of(opd_dnnl_places *out, const opd_call *call, int operand)
{
    opd_dnnl_layout layout;
    opd_dnnl_places places = { .inner = 1 };
    int64_t padded[DNNL_MAX_NDIMS];
    int64_t strides[DNNL_MAX_NDIMS];
    opd_status status = opd_dnnl_dims(places.dims, &places.rank, call, operand);
    if (status != OPD_OK) {
        return status;
    }
    if (!opd_dnnl_layout_get(&layout, call, operand) || !opd_dnnl_layout_sizes(padded, strides, &layout, places.dims)) {
        return opd_fail(OPD_E_INVALID, "the span of %s does not fit 64 bits", call->operands[operand].name);
    }
    if (layout.extra.flags != 0) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s: %s holds sums for a compensation", call->name,
                        call->operands[operand].name);
    }
    places.inner = inner_of(&layout);
    places.block_count = layout.block_count;
    places.is_flat = layout.rank + layout.block_count > OPD_MAX_RANK;
    memcpy(places.order, layout.order, sizeof places.order);
    memcpy(places.blocks, layout.blocks, sizeof places.blocks);
    memcpy(places.block_dims, layout.block_dims, sizeof places.block_dims);
    for (int d = 0; d < layout.rank; d++) {
        places.outer[d] = padded[d] / block_of(&layout, d);
    }
    *out = places;
    return OPD_OK;
}

bool opd_dnnl_place(int64_t *logical, const opd_dnnl_places *places, const int64_t *index)
{
    int64_t inner[DNNL_MAX_NDIMS];
    bool is_element = true;
    if (places->is_flat) {
        int64_t rest = index[0] / places->inner;
        int64_t part = index[0] % places->inner;
        for (int i = places->rank - 1; i >= 0; i--) {
            int d = places->order[i];
            logical[d] = rest % places->outer[d];
            rest /= places->outer[d];
        }
        for (int i = places->block_count - 1; i >= 0; i--) {
            inner[i] = part % places->blocks[i];
            part /= places->blocks[i];
        }
    } else {
        memcpy(logical, index, (size_t)places->rank * sizeof logical[0]);
        memcpy(inner, index + places->rank, (size_t)places->block_count * sizeof inner[0]);
    }
    for (int i = 0; i < places->block_count; i++) {
        int d = places->block_dims[i];
        logical[d] = logical[d] * places->blocks[i] + inner[i];
    }
    for (int d = 0; d < places->rank; d++) {
        is_element &= logical[d] < places->dims[d];
    }
    return is_element;
}

void opd_dnnl_pad(opd_call *call)
{
    for (int i = 0; opd_dnnl_form_of(call) != NULL && i < call->operand_count; i++) {
        const opd_tensor *view = &call->operands[i].view;
        opd_dnnl_places places;
        int64_t logical[DNNL_MAX_NDIMS];
        int64_t index[OPD_MAX_RANK] = { 0 };
        bool is_input = (call->operands[i].role & OPD_ROLE_IN) != 0;
        if (!is_input || view->data == NULL || opd_dnnl_places_of(&places, call, i) != OPD_OK || places.inner == 1) {
            continue;
        }
        for (int64_t flat = 0; flat < opd_tensor_count(view); flat++) {
            opd_tensor_unflatten(view, flat, index);
            if (!opd_dnnl_place(logical, &places, index)) {
                memset((uint8_t *)view->data + opd_tensor_offset(view, index), 0, opd_dtype_size(view->dtype));
            }
        }
    }
    opd_error_clear();
}
