/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of the plane rotations, applied and made. */
#include <math.h>

#include "definition.h"

/* The wanted one of (x, y) is of_x x + of_y y. */
static opd_status combine(opd_work *work, opd_factor of_x, opd_factor of_y)
{
    opd_dense x = { .rows = 0 };
    opd_status status = opd_work_load(&x, work, work->left);
    if (status == OPD_OK) {
        status = opd_work_load(&work->result, work, work->right);
    }
    for (int64_t i = 0; status == OPD_OK && i < x.rows; i++) {
        opd_number a = opd_dense_at(&x, i, 0);
        opd_number b = opd_dense_at(&work->result, i, 0);
        opd_number value = opd_number_add(opd_factor_mul(of_x, a, work->precision),
                                          opd_factor_mul(of_y, b, work->precision), work->precision);
        opd_dense_put(&work->result, i, 0, value,
                      opd_number_size(of_x.value) * opd_number_size(a) +
                          opd_number_size(of_y.value) * opd_number_size(b));
    }
    opd_dense_free(&x);
    return status;
}

/* The wanted one of (x, y) times the real 2 x 2 matrix h (h11 h21 h12 h22, by columns). */
static opd_status apply(opd_work *work, const long double h[4])
{
    bool wants_x = opd_work_wants(work, work->left);
    return combine(work, (opd_factor){ { h[wants_x ? 0 : 1], 0 }, true },
                   (opd_factor){ { h[wants_x ? 2 : 3], 0 }, true });
}

/* x' = c x + s y, y' = c y - conj(s) x. */
opd_status opd_form_rotate(opd_work *work)
{
    opd_factor c = opd_work_scalar(work, "c", 1);
    opd_factor s = opd_work_scalar(work, "s", 1);
    opd_factor of_x = { { -s.value.re, s.value.im }, s.is_real };
    return opd_work_wants(work, work->left) ? combine(work, c, s) : combine(work, of_x, c);
}

/* The elements of h that param leaves out are ones and zeros by its first element. */
opd_status opd_form_rotate_modified(opd_work *work)
{
    opd_dense param = { .rows = 0 };
    opd_status status = opd_work_load(&param, work, "param");
    if (status != OPD_OK) {
        return status;
    }
    long double h[4] = { 1, 0, 0, 1 };
    long double flag = param.re[0];
    if (flag != -2) {
        for (int i = 0; i < 4; i++) {
            h[i] = param.re[i + 1];
        }
    }
    opd_dense_free(&param);
    if (flag == 0) {
        h[0] = 1;
        h[3] = 1;
    } else if (flag > 0) {
        h[1] = -1;
        h[2] = 1;
    } else if (flag == -2) {
        return opd_work_load(&work->result, work, work->wanted->name);
    }
    return apply(work, h);
}

/* Reads an operand of one element. */
static opd_status load_one(opd_number *out, opd_work *work, const char *name)
{
    opd_dense one = { .rows = 0 };
    opd_status status = opd_work_load(&one, work, name);
    if (status == OPD_OK) {
        *out = opd_dense_at(&one, 0, 0);
    }
    opd_dense_free(&one);
    return status;
}

/* r, z, c, s of the real rotation: (c s; -s c) (a, b) = (r, 0). */
static void make_real(long double out[4], long double a, long double b, opd_precision precision)
{
    bool is_a_larger = fabsl(a) > fabsl(b);
    long double r = opd_narrow(copysignl(hypotl(a, b), is_a_larger ? a : b), precision);
    bool is_null = a == 0 && b == 0;
    long double c = is_null ? 1 : opd_narrow(a / r, precision);
    long double s = is_null ? 0 : opd_narrow(b / r, precision);
    long double z = is_a_larger ? s : 1;
    if (!is_a_larger && c != 0) {
        z = opd_narrow(1 / c, precision);
    }
    out[0] = is_null ? 0 : r;
    out[1] = is_null ? 0 : z;
    out[2] = c;
    out[3] = s;
}

/* r, b (kept), c, s of the complex rotation: c = |a| / h, s = a/|a| conj(b) / h, r = a/|a| h, h^2 = |a|^2 + |b|^2. */
static opd_status make_complex(opd_number out[4], opd_number a, opd_number b, opd_precision precision)
{
    long double size_a = hypotl(a.re, a.im);
    long double size_b = hypotl(b.re, b.im);
    if (size_a == 0 && size_b != 0) {
        return opd_fail(OPD_E_DECLINED, "libraries disagree on the complex rotation of a = 0");
    }
    long double h = hypotl(size_a, size_b);
    opd_number unit = { 1, 0 };
    if (size_a != 0) {
        unit = (opd_number){ a.re / size_a, a.im / size_a };
    }
    opd_number turned = opd_number_mul(unit, (opd_number){ b.re, -b.im }, OPD_PRECISION_WIDE);
    out[0] = (opd_number){ opd_narrow(unit.re * h, precision), opd_narrow(unit.im * h, precision) };
    out[1] = b;
    out[2] = (opd_number){ h == 0 ? 1 : opd_narrow(size_a / h, precision), 0 };
    out[3] = (opd_number){ h == 0 ? 0 : opd_narrow(turned.re / h, precision),
                           h == 0 ? 0 : opd_narrow(turned.im / h, precision) };
    if (size_a == 0) {
        out[0] = (opd_number){ 0, 0 };
    }
    return OPD_OK;
}

opd_status opd_form_make_rotation(opd_work *work)
{
    static const char *const names[] = { "a", "b", "c", "s" };
    opd_number a = { 0, 0 };
    opd_number b = { 0, 0 };
    opd_number out[4] = { { 0, 0 } };
    opd_status status = load_one(&a, work, "a");
    if (status == OPD_OK) {
        status = load_one(&b, work, "b");
    }
    if (status == OPD_OK && opd_dtype_is_complex(work->call.dtype)) {
        status = make_complex(out, a, b, work->precision);
    } else if (status == OPD_OK) {
        long double real[4];
        make_real(real, a.re, b.re, work->precision);
        for (int i = 0; i < 4; i++) {
            out[i].re = real[i];
        }
    }
    if (status == OPD_OK) {
        status = opd_dense_new(&work->result, 1, 1, opd_dtype_is_complex(work->wanted->view.dtype));
    }
    for (int i = 0; status == OPD_OK && i < 4; i++) {
        if (opd_work_wants(work, names[i])) {
            opd_dense_put(&work->result, 0, 0, out[i], opd_number_size(out[i]));
        }
    }
    return status;
}

/* State of the construction of a modified rotation. */
struct modified {
    long double d1, d2, x1, y1;
    long double flag;
    long double h[4];      /* h11 h21 h12 h22 */
    long double condition; /* of u = 1 +- product: its terms over its size */
};

static void set_null(struct modified *m)
{
    *m = (struct modified){ .y1 = m->y1, .flag = -1, .condition = 1 };
}

static void build(struct modified *m, opd_precision precision)
{
    m->condition = 1;
    if (m->d1 < 0) {
        set_null(m);
        return;
    }
    long double p2 = opd_narrow(m->d2 * m->y1, precision);
    if (p2 == 0) {
        m->flag = -2;
        return;
    }
    long double p1 = opd_narrow(m->d1 * m->x1, precision);
    long double q2 = opd_narrow(p2 * m->y1, precision);
    long double q1 = opd_narrow(p1 * m->x1, precision);
    if (fabsl(q1) > fabsl(q2)) {
        m->flag = 0;
        m->h[1] = opd_narrow(-m->y1 / m->x1, precision);
        m->h[2] = opd_narrow(p2 / p1, precision);
        long double u = opd_narrow(1 - m->h[1] * m->h[2], precision);
        m->condition = (1 + fabsl(m->h[1] * m->h[2])) / fabsl(u);
        if (u <= 0) {
            set_null(m);
            return;
        }
        m->d1 = opd_narrow(m->d1 / u, precision);
        m->d2 = opd_narrow(m->d2 / u, precision);
        m->x1 = opd_narrow(m->x1 * u, precision);
        return;
    }
    if (q2 < 0) {
        set_null(m);
        return;
    }
    m->flag = 1;
    m->h[0] = opd_narrow(p1 / p2, precision);
    m->h[3] = opd_narrow(m->x1 / m->y1, precision);
    long double u = opd_narrow(1 + m->h[0] * m->h[3], precision);
    m->condition = (1 + fabsl(m->h[0] * m->h[3])) / fabsl(u);
    long double d1 = opd_narrow(m->d2 / u, precision);
    m->d2 = opd_narrow(m->d1 / u, precision);
    m->d1 = d1;
    m->x1 = opd_narrow(m->y1 * u, precision);
}

/*
 * Brings d into [2^-24, 2^24] by powers of 4096, which the row of h and x1 make up for. (netlib up to
 * 3.11 overwrites h21 and h12 when it rescales a second time; OpenBLAS does not.)
 */
static void rescale(struct modified *m, long double *d, int row, long double *x)
{
    const long double step = 4096;
    while (*d != 0 && isfinite(*d) && (fabsl(*d) <= 1 / (step * step) || fabsl(*d) >= step * step)) {
        if (m->flag == 0) {
            m->h[0] = 1;
            m->h[3] = 1;
        } else if (m->flag > 0) {
            m->h[1] = -1;
            m->h[2] = 1;
        }
        m->flag = -1;
        long double factor = fabsl(*d) <= 1 / (step * step) ? 1 / step : step;
        *d /= factor * factor;
        m->h[row] *= factor;
        m->h[row + 2] *= factor;
        *x *= factor;
    }
}

static void put_modified(opd_work *work, const struct modified *m, const opd_dense *param)
{
    const long double values[] = { m->d1, m->d2, m->x1 };
    static const char *const names[] = { "d1", "d2", "x1" };
    for (int i = 0; i < 3; i++) {
        if (opd_work_wants(work, names[i])) {
            opd_dense_put(&work->result, 0, 0, (opd_number){ values[i], 0 }, fabsl(values[i]) * m->condition);
        }
    }
    if (!opd_work_wants(work, "param")) {
        return;
    }
    for (int64_t i = 0; i < 5; i++) {
        bool is_diagonal = i == 1 || i == 4;
        bool is_set = m->flag == -1 || (m->flag == 0 && !is_diagonal) || (m->flag == 1 && is_diagonal);
        long double old = param->re[i];
        long double value = is_set && i > 0 ? m->h[i - 1] : old;
        value = i == 0 ? m->flag : value;
        opd_dense_put(&work->result, i, 0, (opd_number){ value, 0 }, is_set && i > 0 ? fabsl(value) : 0);
    }
}

opd_status opd_form_make_rotation_modified(opd_work *work)
{
    opd_number d1 = { 0, 0 };
    opd_number d2 = { 0, 0 };
    opd_number x1 = { 0, 0 };
    opd_dense param = { .rows = 0 };
    /* Elements of param that the routine does not set keep their value: it is loaded although the routine must not read it. */
    opd_operand *kept = opd_call_operand(&work->call, "param");
    kept->flags &= ~(uint32_t)OPD_OPERAND_MUST_NOT_READ;
    opd_status status = opd_work_load(&param, work, "param");
    if (status == OPD_OK) {
        status = load_one(&d1, work, "d1");
    }
    if (status == OPD_OK) {
        status = load_one(&d2, work, "d2");
    }
    if (status == OPD_OK) {
        status = load_one(&x1, work, "x1");
    }
    long double y1 = opd_work_scalar(work, "y1", 1).value.re;
    if (status == OPD_OK && (d1.re == 0 || (d1.re < 0 && d2.re * y1 == 0))) {
        status = opd_fail(OPD_E_DECLINED, "libraries disagree on the modified rotation of this degenerate input");
    }
    if (status == OPD_OK) {
        status = opd_work_load(&work->result, work, work->wanted->name);
    }
    if (status == OPD_OK) {
        struct modified m = { .d1 = d1.re, .d2 = d2.re, .x1 = x1.re, .y1 = y1 };
        build(&m, work->precision);
        long double unused = 1;
        if (m.flag != -2) {
            rescale(&m, &m.d1, 0, &m.x1);
            rescale(&m, &m.d2, 1, &unused);
        }
        put_modified(work, &m, &param);
    }
    opd_dense_free(&param);
    return status;
}
