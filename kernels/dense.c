/* SPDX-License-Identifier: Apache-2.0 */
/* Dense copies of operands: loading through any storage scheme, transforming, storing back in the view's order. */
#include "dense.h"

#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

opd_status opd_dense_new(opd_dense *out, int64_t rows, int64_t cols, bool is_complex)
{
    size_t count;
    if (!opd_mul_size(&count, (size_t)rows, (size_t)cols)) {
        opd_fail(OPD_E_LIMIT, "a matrix of %lld x %lld elements is too large", (long long)rows, (long long)cols);
        return OPD_E_LIMIT;
    }
    opd_dense matrix = { .rows = rows, .cols = cols, .below = rows, .above = cols };
    void *block[3] = { NULL, NULL, NULL };
    opd_status status = OPD_OK;
    for (int i = 0; i < 3 && status == OPD_OK; i++) {
        if (i != 1 || is_complex) {
            status = opd_alloc_array(&block[i], count, sizeof(long double));
        }
    }
    matrix.re = block[0];
    matrix.im = block[1];
    matrix.gauge = block[2];
    if (status != OPD_OK) {
        opd_dense_free(&matrix);
        return status;
    }
    *out = matrix;
    return OPD_OK;
}

void opd_dense_free(opd_dense *matrix)
{
    if (matrix == NULL) {
        return;
    }
    opd_free(matrix->re);
    opd_free(matrix->im);
    opd_free(matrix->gauge);
    memset(matrix, 0, sizeof *matrix);
}

/* Rows and columns of the matrix that a view stores. */
static void logical_shape(int64_t shape[2], const opd_tensor *view)
{
    shape[0] = view->rank > 0 ? view->shape[0] : 1;
    shape[1] = view->rank > 1 ? view->shape[1] : 1;
    if (view->mask.kind == OPD_MASK_BAND || view->mask.kind == OPD_MASK_PACKED) {
        shape[0] = view->mask.rows;
        shape[1] = view->mask.cols;
    }
}

static bool in_triangle(const opd_mask *mask, bool is_upper, int64_t i, int64_t j)
{
    if (i == j) {
        return mask->unit == 0;
    }
    return is_upper ? i < j : i > j;
}

/* Index in the view's shape of matrix element (i, j); false when it is not stored. */
static bool locate(int64_t index[2], const opd_tensor *view, bool is_row_major, int64_t i, int64_t j)
{
    const opd_mask *mask = &view->mask;
    index[0] = i;
    index[1] = j;
    switch (mask->kind) {
    case OPD_MASK_UPPER:
    case OPD_MASK_LOWER:
        return in_triangle(mask, mask->kind == OPD_MASK_UPPER, i, j);
    case OPD_MASK_BAND:
        index[0] = mask->by_rows ? i : i - j + mask->ku;
        index[1] = mask->by_rows ? j - i + mask->kl : j;
        return i - j <= mask->kl && j - i <= mask->ku && (i != j || mask->unit == 0);
    case OPD_MASK_PACKED:
        if (is_row_major) {
            int64_t swapped = i;
            i = j;
            j = swapped;
        }
        index[0] = i + (mask->upper ? j * (j + 1) / 2 : j * (2 * mask->rows - j - 1) / 2);
        return in_triangle(mask, mask->upper != 0, i, j);
    default:
        return true;
    }
}

/* How far elements reach from the diagonal. */
static void set_bandwidths(opd_dense *matrix, const opd_tensor *view, bool is_row_major)
{
    bool is_upper = view->mask.kind == OPD_MASK_UPPER;
    switch (view->mask.kind) {
    case OPD_MASK_BAND:
        matrix->below = view->mask.kl;
        matrix->above = view->mask.ku;
        return;
    case OPD_MASK_PACKED:
        is_upper = (view->mask.upper != 0) != is_row_major;
        break;
    case OPD_MASK_UPPER:
    case OPD_MASK_LOWER:
        break;
    default:
        return;
    }
    if (is_upper) {
        matrix->below = 0;
    } else {
        matrix->above = 0;
    }
}

static bool is_row_major_call(const opd_call *call)
{
    return (call->flags & OPD_CALL_ROW_MAJOR) != 0;
}

static void load_element(opd_dense *out, const opd_tensor *view, bool is_row_major, int64_t i, int64_t j)
{
    int64_t index[2];
    if (!locate(index, view, is_row_major, i, j)) {
        if (i == j && view->mask.unit) {
            opd_dense_put(out, i, j, (opd_number){ 1, 0 }, 1);
        }
        return;
    }
    int64_t offset = 0;
    for (int d = 0; d < view->rank; d++) {
        offset += index[d] * view->stride[d];
    }
    const char *element = (const char *)view->data + offset * (int64_t)opd_dtype_size(view->dtype);
    double re;
    double im;
    opd_element_load(view->dtype, element, &re, &im);
    opd_number value = { re, im };
    opd_dense_put(out, i, j, value, opd_number_size(value));
}

opd_status opd_dense_load(opd_dense *out, const opd_call *call, const opd_operand *operand)
{
    const opd_tensor *view = &operand->view;
    int64_t shape[2];
    logical_shape(shape, view);
    opd_status status = opd_dense_new(out, shape[0], shape[1], opd_dtype_is_complex(view->dtype));
    if (status != OPD_OK) {
        return status;
    }
    set_bandwidths(out, view, is_row_major_call(call));
    bool is_input = (operand->role & OPD_ROLE_IN) != 0;
    if (!is_input || (operand->flags & OPD_OPERAND_MUST_NOT_READ) != 0 || view->data == NULL) {
        return OPD_OK;
    }
    for (int64_t i = 0; i < out->rows; i++) {
        int64_t from = i - out->below > 0 ? i - out->below : 0;
        int64_t to = i + out->above < out->cols ? i + out->above + 1 : out->cols;
        for (int64_t j = from; j < to; j++) {
            load_element(out, view, is_row_major_call(call), i, j);
        }
    }
    return OPD_OK;
}

void opd_dense_store(long double *value, long double *gauge, const opd_dense *matrix, const opd_call *call,
                     const opd_operand *operand)
{
    const opd_tensor *view = &operand->view;
    size_t parts = opd_dtype_is_complex(view->dtype) ? 2 : 1;
    size_t count = (size_t)opd_tensor_count(view);
    memset(value, 0, count * parts * sizeof *value);
    if (gauge != NULL) {
        memset(gauge, 0, count * sizeof *gauge);
    }
    for (int64_t i = 0; i < matrix->rows; i++) {
        for (int64_t j = 0; j < matrix->cols; j++) {
            int64_t index[2];
            if (!locate(index, view, is_row_major_call(call), i, j)) {
                continue;
            }
            size_t at = (size_t)(view->rank == 2 ? index[0] * view->shape[1] + index[1] : index[0]);
            opd_number number = opd_dense_at(matrix, i, j);
            value[at * parts] = number.re;
            if (parts == 2) {
                value[at * parts + 1] = number.im;
            }
            if (gauge != NULL) {
                gauge[at] = matrix->gauge[i * matrix->cols + j];
            }
        }
    }
}

opd_status opd_dense_transform(opd_dense *matrix, int letter)
{
    bool is_transposed = letter == 'T' || letter == 'C';
    if ((letter == 'C' || letter == 'R') && matrix->im != NULL) {
        for (int64_t at = 0; at < matrix->rows * matrix->cols; at++) {
            matrix->im[at] = -matrix->im[at];
        }
    }
    if (!is_transposed) {
        return OPD_OK;
    }
    opd_dense turned = { .rows = 0 };
    opd_status status = opd_dense_new(&turned, matrix->cols, matrix->rows, matrix->im != NULL);
    if (status != OPD_OK) {
        return status;
    }
    turned.below = matrix->above;
    turned.above = matrix->below;
    for (int64_t i = 0; i < matrix->rows; i++) {
        for (int64_t j = 0; j < matrix->cols; j++) {
            opd_dense_put(&turned, j, i, opd_dense_at(matrix, i, j), matrix->gauge[i * matrix->cols + j]);
        }
    }
    opd_dense_free(matrix);
    *matrix = turned;
    return OPD_OK;
}

void opd_dense_real_diagonal(opd_dense *matrix)
{
    for (int64_t i = 0; i < matrix->rows && matrix->im != NULL; i++) {
        int64_t at = i * matrix->cols + i;
        matrix->gauge[at] -= fabsl(matrix->im[at]);
        matrix->im[at] = 0;
        matrix->gauge[at] = isnan(matrix->gauge[at]) ? fabsl(matrix->re[at]) : matrix->gauge[at];
    }
}

void opd_dense_mirror(opd_dense *matrix, bool is_hermitian)
{
    if (is_hermitian) {
        opd_dense_real_diagonal(matrix);
    }
    bool has_upper = matrix->above > 0;
    int64_t reach = has_upper ? matrix->above : matrix->below;
    for (int64_t i = 0; i < matrix->rows; i++) {
        for (int64_t j = i + 1; j < matrix->cols && j - i <= reach; j++) {
            int64_t from_row = has_upper ? i : j;
            int64_t from_col = has_upper ? j : i;
            opd_number value = opd_dense_at(matrix, from_row, from_col);
            value.im = is_hermitian ? -value.im : value.im;
            opd_dense_put(matrix, from_col, from_row, value, matrix->gauge[from_row * matrix->cols + from_col]);
        }
    }
    matrix->below = reach;
    matrix->above = reach;
}
