/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log, exp and the normal quantile from basic operations only.
 */
#include "elementary.h"

#include <stdint.h>
#include <string.h>

#include <opsdebug/memory.h>

/* ln 2 in two parts; the first has 21 zero bits at its end, so that its product with an exponent is exact. */
#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW  1.90821492927058770002e-10
#define LOG2_E   1.44269504088896338700e+00

static double polynomial(const double *coefficients, size_t count, double x)
{
    double value = coefficients[count - 1];
    for (size_t i = count - 1; i > 0; i--) {
        value = value * x + coefficients[i - 1];
    }
    return value;
}

double opd_power_of_two(int exponent)
{
    uint64_t bits = exponent >= -1022 ? (uint64_t)(exponent + 1023) << 52 : UINT64_C(1) << (exponent + 1074);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

double opd_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double m;
    memcpy(&m, &bits, sizeof(m));
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    /* log m = 2 atanh s, |s| <= 0.1716; the first term left out is under 2^-60 of the sum. */
    static const double odd[] = { 1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                  1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21 };
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s;
    double tail = 2.0 * s * z * polynomial(odd, OPD_COUNT(odd), z);
    double k = (double)exponent;
    return k * LN2_HIGH + (2.0 * s + (tail + k * LN2_LOW));
}

double opd_exp(double x)
{
    if (x != x) {
        return x;
    }
    if (x > 709.782712893384) {
        return __builtin_inf();
    }
    if (x < -745.1332191019412) {
        return 0.0;
    }
    int k = (int)(x * LOG2_E + (x < 0 ? -0.5 : 0.5));
    double r = (x - (double)k * LN2_HIGH) - (double)k * LN2_LOW;
    /* |r| <= 0.347; the first term left out is under 2^-56. */
    static const double taylor[] = {
        1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0
    };
    double value = polynomial(taylor, OPD_COUNT(taylor), r);
    int half = k / 2; /* in two steps, as 2^k alone may be out of range */
    return value * opd_power_of_two(half) * opd_power_of_two(k - half);
}

/* source: Wichura 1988, "Algorithm AS 241: The percentage points of the normal distribution", PPND16. */
double opd_normal_quantile(double p)
{
    static const double a[] = { 3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                3.3430575583588128105e+4, 2.5090809287301226727e+3 };
    static const double b[] = { 1.0,
                                4.2313330701600911252e+1,
                                6.8718700749205790830e+2,
                                5.3941960214247511077e+3,
                                2.1213794301586595867e+4,
                                3.9307895800092710610e+4,
                                2.8729085735721942674e+4,
                                5.2264952788528545610e+3 };
    static const double c[] = { 1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4 };
    static const double d[] = { 1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9 };
    static const double e[] = { 6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7 };
    static const double f[] = { 1.0,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15 };
    double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(a, OPD_COUNT(a), r) / polynomial(b, OPD_COUNT(b), r);
    }
    double r = __builtin_sqrt(-opd_log(q < 0 ? p : 1.0 - p));
    double value;
    if (r <= 5.0) {
        r -= 1.6;
        value = polynomial(c, OPD_COUNT(c), r) / polynomial(d, OPD_COUNT(d), r);
    } else {
        r -= 5.0;
        value = polynomial(e, OPD_COUNT(e), r) / polynomial(f, OPD_COUNT(f), r);
    }
    return q < 0 ? -value : value;
}
