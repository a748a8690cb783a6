/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of levels 2 and 3: products, updates, triangular solutions. */
#include "definition.h"

/* The old content times beta: what alpha terms are added to. */
static opd_status load_result(opd_work *work)
{
    opd_status status = opd_work_load(&work->result, work, work->wanted->name);
    if (status != OPD_OK) {
        return status;
    }
    opd_factor beta = opd_work_scalar(work, "beta", (work->traits & OPD_TRAIT_KEEPS) != 0 ? 1 : 0);
    opd_dense_scale(&work->result, beta, work->precision);
    return OPD_OK;
}

/* The left operand: its whole matrix, transformed as the call says. */
static opd_status load_left(opd_dense *out, opd_work *work)
{
    opd_status status = opd_work_load(out, work, work->left);
    if (status != OPD_OK) {
        return status;
    }
    if ((work->traits & OPD_TRAIT_SYMMETRIC) != 0) {
        opd_dense_mirror(out, (work->traits & OPD_TRAIT_HERMITIAN) != 0);
    }
    return opd_dense_transform(out, opd_work_choice(work, "transa", opd_work_choice(work, "trans", 'N')));
}

/* gemv and gbmv return before anything is scaled when the matrix is empty. */
static bool is_kept_empty(opd_work *work)
{
    const opd_value *m = opd_call_value(&work->call, "m");
    const opd_value *n = opd_call_value(&work->call, "n");
    return work->call.op->level == 2 && m != NULL && n != NULL && (m->i == 0 || n->i == 0);
}

opd_status opd_form_multiply(opd_work *work)
{
    if (is_kept_empty(work)) {
        return opd_work_load(&work->result, work, work->wanted->name);
    }
    opd_dense left = { .rows = 0 };
    opd_dense right = { .rows = 0 };
    opd_status status = load_result(work);
    if (status == OPD_OK) {
        status = load_left(&left, work);
    }
    if (status == OPD_OK) {
        status = opd_work_load(&right, work, work->right);
    }
    if (status == OPD_OK) {
        status = opd_dense_transform(&right, opd_work_choice(work, "transb", 'N'));
    }
    if (status == OPD_OK) {
        bool is_right = opd_work_choice(work, "side", 'L') == 'R';
        status = opd_dense_multiply_add(&work->result, opd_work_scalar(work, "alpha", 1), is_right ? &right : &left,
                                        is_right ? &left : &right, work->precision);
    }
    opd_dense_free(&left);
    opd_dense_free(&right);
    return status;
}

/* result += factor first second', second conjugated when the trait says so. */
static opd_status add_outer(opd_work *work, opd_factor factor, const opd_dense *first, const opd_dense *second)
{
    opd_dense turned = { .rows = 0 };
    opd_status status = opd_dense_new(&turned, second->rows, second->cols, second->im != NULL);
    if (status != OPD_OK) {
        return status;
    }
    for (int64_t i = 0; i < second->rows; i++) {
        for (int64_t j = 0; j < second->cols; j++) {
            opd_dense_put(&turned, i, j, opd_dense_at(second, i, j), second->gauge[i * second->cols + j]);
        }
    }
    status = opd_dense_transform(&turned, (work->traits & OPD_TRAIT_CONJUGATE) != 0 ? 'C' : 'T');
    if (status == OPD_OK) {
        status = opd_dense_multiply_add(&work->result, factor, first, &turned, work->precision);
    }
    opd_dense_free(&turned);
    return status;
}

/* X = op(operand), so that the update is X Y': A for 'N', its transpose otherwise. */
static opd_status load_factor(opd_dense *out, opd_work *work, const char *name)
{
    opd_status status = opd_work_load(out, work, name);
    int trans = opd_work_choice(work, "trans", 'N');
    return status == OPD_OK ? opd_dense_transform(out, trans) : status;
}

/* Does the routine return before it touches its hermitian operand, the diagonal's imaginary parts included? */
static bool is_untouched(opd_work *work)
{
    opd_factor alpha = opd_work_scalar(work, "alpha", 1);
    opd_factor beta = opd_work_scalar(work, "beta", 1);
    const opd_value *k = opd_call_value(&work->call, "k");
    bool has_no_term = opd_number_size(alpha.value) == 0 || (k != NULL && k->i == 0);
    return has_no_term && beta.value.re == 1;
}

opd_status opd_form_update(opd_work *work)
{
    bool is_hermitian = (work->traits & OPD_TRAIT_HERMITIAN) != 0;
    if (is_hermitian && is_untouched(work)) {
        return opd_work_load(&work->result, work, work->wanted->name);
    }
    opd_dense first = { .rows = 0 };
    opd_dense second = { .rows = 0 };
    opd_factor alpha = opd_work_scalar(work, "alpha", 1);
    bool is_symmetric = (work->traits & OPD_TRAIT_SYMMETRIC) != 0;
    opd_status status = load_result(work);
    if (status == OPD_OK && is_hermitian) {
        opd_dense_real_diagonal(&work->result);
    }
    if (status == OPD_OK) {
        status = load_factor(&first, work, work->left);
    }
    if (status == OPD_OK && work->right != NULL) {
        status = load_factor(&second, work, work->right);
    }
    if (status == OPD_OK) {
        status = add_outer(work, alpha, &first, work->right != NULL ? &second : &first);
    }
    if (status == OPD_OK && is_symmetric && work->right != NULL) {
        alpha.value.im = is_hermitian ? -alpha.value.im : alpha.value.im;
        status = add_outer(work, alpha, &second, &first);
    }
    if (status == OPD_OK && is_hermitian) {
        opd_dense_real_diagonal(&work->result);
    }
    opd_dense_free(&first);
    opd_dense_free(&second);
    return status;
}

opd_status opd_form_solve(opd_work *work)
{
    opd_dense triangle = { .rows = 0 };
    opd_status status = load_left(&triangle, work);
    if (status == OPD_OK) {
        status = opd_work_load(&work->result, work, work->right);
    }
    if (status == OPD_OK) {
        opd_dense_scale(&work->result, opd_work_scalar(work, "alpha", 1), work->precision);
    }
    /* X op(A) = B is op(A)' X' = B'. */
    bool is_right = opd_work_choice(work, "side", 'L') == 'R';
    if (status == OPD_OK && is_right) {
        status = opd_dense_transform(&triangle, 'T');
    }
    if (status == OPD_OK && is_right) {
        status = opd_dense_transform(&work->result, 'T');
    }
    bool is_zero = opd_number_size(opd_work_scalar(work, "alpha", 1).value) == 0;
    if (status == OPD_OK && !is_zero) {
        opd_dense_solve(&work->result, &triangle, work->precision);
    }
    if (status == OPD_OK && is_right) {
        status = opd_dense_transform(&work->result, 'T');
    }
    opd_dense_free(&triangle);
    return status;
}
