/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view as text for people: "f32[128, 64] strides (1, 128) upper".
 */
#include <opsdebug/tensor.h>

#include <stdarg.h>
#include <stdio.h>

#include <opsdebug/memory.h>

typedef struct text_out {
    char *text;
    size_t size;
    size_t used;
} text_out;

static void print(text_out *out, const char *format, ...) OPD_PRINTF(2, 3);

static void print(text_out *out, const char *format, ...)
{
    if (out->used >= out->size) {
        return;
    }
    va_list list;
    va_start(list, format);
    int length = vsnprintf(out->text + out->used, out->size - out->used, format, list);
    va_end(list);
    if (length > 0) {
        out->used += (size_t)length;
    }
}

static void print_list(text_out *out, const char *open, const int64_t *values, int32_t count, const char *close)
{
    print(out, "%s", open);
    for (int32_t i = 0; i < count; i++) {
        print(out, i > 0 ? ", %lld" : "%lld", (long long)values[i]);
    }
    print(out, "%s", close);
}

static bool is_contiguous(const opd_tensor *view)
{
    int64_t step = 1;
    for (int32_t d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] == 0) {
            return true;
        }
        if (view->shape[d] != 1 && view->stride[d] != step) {
            return false;
        }
        if (!opd_mul_i64(&step, step, view->shape[d])) {
            return true; /* not a checked view: say no more than its shape */
        }
    }
    return true;
}

static void print_mask(text_out *out, const opd_mask *mask)
{
    switch ((opd_mask_kind)mask->kind) {
    case OPD_MASK_NONE:
        return;
    case OPD_MASK_UPPER:
        print(out, " upper");
        break;
    case OPD_MASK_LOWER:
        print(out, " lower");
        break;
    case OPD_MASK_BAND:
        print(out, " band kl=%lld ku=%lld of %lldx%lld%s", (long long)mask->kl, (long long)mask->ku,
              (long long)mask->rows, (long long)mask->cols, mask->by_rows ? " by rows" : "");
        break;
    case OPD_MASK_PACKED:
        print(out, " packed %s n=%lld", mask->upper ? "upper" : "lower", (long long)mask->rows);
        break;
    }
    if (mask->unit) {
        print(out, " unit");
    }
}

void opd_tensor_describe(char *text, size_t size, const opd_tensor *view)
{
    text_out out = { .text = text, .size = size };
    int32_t rank = view->rank < 0 ? 0 : view->rank > OPD_MAX_RANK ? OPD_MAX_RANK : view->rank;
    if (size > 0) {
        text[0] = '\0';
    }
    print(&out, "%s", opd_dtype_name(view->dtype));
    print_list(&out, "[", view->shape, rank, "]");
    if (rank == view->rank && !is_contiguous(view)) {
        print_list(&out, " strides (", view->stride, rank, ")");
    }
    print_mask(&out, &view->mask);
}
