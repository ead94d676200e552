/*
 * Elementary functions in double precision, good to about 1e-14. Sums and products are rounded one
 * by one (-ffp-contract=off), so that results do not depend on the machine.
 */
#ifndef KYMO_NEURON_SIMULATOR_REAL_H
#define KYMO_NEURON_SIMULATOR_REAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static const double real_half_pi = 0x1.921fb54442d18p+0, real_pi = 0x1.921fb54442d18p+1;
static const double real_ln2_high = 0x1.62e42fee00000p-1, real_ln2_low = 0x1.a39ef35793c76p-33;

static inline uint64_t real_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* e^x - 1 = scale * part + (scale - 1). x is clamped to where FP32 is neither 0 nor infinite. */
static inline double real_exp_parts(double x, double *scale)
{
    const double round = 0x1.8p52;
    x = x > 130 ? 130 : x < -150 ? -150 : x;
    double shifted = x * 0x1.71547652b82fep+0 + round, n = shifted - round;
    double r = x - n * real_ln2_high - n * real_ln2_low;
    *scale = real_of((real_bits(shifted) - real_bits(round) + 1023) << 52);
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    return p * r * r + r;
}

static inline double real_exp(double x)
{
    double scale, part = real_exp_parts(x, &scale);
    return scale + scale * part;
}

static inline double real_expm1(double x)
{
    double scale, part = real_exp_parts(x, &scale);
    return scale * part + (scale - 1);
}

/* Reduces x to a mantissa around 1, between sqrt(1/2) and sqrt(2), where the series converges fast.
 * The two halves of ln 2 keep the product with the exponent exact. */
static inline double real_log(double x)
{
    if (!(x > 0))
        return x == 0 ? (double)-INFINITY : (double)NAN;
    if (x > 1e300)
        return (double)INFINITY;
    uint64_t bits = real_bits(x);
    int exponent = (int)(bits >> 52) - 1023;
    double m = real_of((bits & UINT64_C(0xFFFFFFFFFFFFF)) | UINT64_C(1023) << 52);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        exponent++;
    }
    /* log m = 2 atanh((m - 1) / (m + 1)) */
    double s = (m - 1) / (m + 1), z = s * s;
    double p = 1.0 / 21;
    p = p * z + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    return exponent * real_ln2_high + (2 * s + (2 * s * z * p + exponent * real_ln2_low));
}

/* Divides the rounding error of 1 + x out again. */
static inline double real_log1p(double x)
{
    double sum = 1 + x;
    if (sum == 1 || x > 1e300)
        return x;
    return sum == 0 ? (double)-INFINITY : real_log(sum) * (x / (sum - 1));
}

static inline double real_tanh(double x)
{
    double t = real_expm1(2 * fabs(x));
    return copysign(t / (t + 2), x);
}

static inline double real_sigmoid(double x)
{
    return 1 / (1 + real_exp(-x));
}

/* erf(x) / x: the Taylor series. */
static inline double real_erf_part(double x)
{
    static const double terms[] = {1.0,
                                   -1.0 / 3,
                                   1.0 / 10,
                                   -1.0 / 42,
                                   1.0 / 216,
                                   -1.0 / 1320,
                                   1.0 / 9360,
                                   -1.0 / 75600,
                                   1.0 / 685440,
                                   -1.0 / 6894720,
                                   1.0 / 76204800,
                                   -1.0 / 918086400,
                                   1.0 / 11975040000.0,
                                   -1.0 / 168129561600.0,
                                   1.0 / 2528170444800.0};
    double p = 0, z = x * x;
    for (int i = 14; i >= 0; i--)
        p = p * z + terms[i];
    return 0x1.20dd750429b6dp+0 * p;
}

/* 1 - erf(x), x from 1 on: e^(-x^2) times a polynomial fitted to the rest, in x up to 4, in 1/x up
 * to 11, above which it is 0 in FP32. */
static inline double real_erfc_part(double x)
{
    static const double near[] = {
        0x1.afbb3f3ac6e13p-3,   -0x1.e73e26ba16aa0p-4,  0x1.057e6dc631e50p-4,
        -0x1.0c7cd5a7fe30ap-5,  0x1.08e52cc0b9461p-6,   -0x1.f8292a8032fb7p-8,
        0x1.d0174835474a3p-9,   -0x1.9d7d067fe1bfdp-10, 0x1.669afd1858ef0p-11,
        -0x1.36f10282d2f7ap-12, 0x1.010f9326c1b77p-13,  -0x1.4a381e9f4b13dp-15,
        0x1.ff28164ad7c7bp-17,  -0x1.a433224fcf68fp-17, 0x1.41d562657ee0bp-18};
    static const double far[] = {
        0x1.1cb160e2a4248p-1,  -0x1.e80d0c4fcf0fcp-8, -0x1.86a3cd443e570p-10,
        0x1.efa76269c15f1p-14, 0x1.5e38ef464467cp-18, -0x1.d36459cc524abp-20,
        0x1.8e2185cb0ab04p-24, 0x1.32407695458adp-26, -0x1.ee2473f6a5974p-29};
    double p = 0;
    if (x < 4) {
        double t = (x - 2.5) / 1.6;
        for (int i = 14; i >= 0; i--)
            p = p * t + near[i];
    } else {
        double inverse = 1 / (x < 11 ? x : 11);
        double t = (inverse - 0x1.63a7aed804c62p-3) * 0x1.82b4481cd8567p+3;
        for (int i = 8; i >= 0; i--)
            p = p * t + far[i];
        p *= inverse;
    }
    return real_exp(-x * x) * p;
}

static inline double real_erf(double x)
{
    double size = fabs(x);
    if (!(size >= 1))
        return x * real_erf_part(x);
    return copysign(1 - real_erfc_part(size), x);
}

static inline double real_erfc(double x)
{
    if (x >= 1)
        return real_erfc_part(x);
    return 1 - real_erf(x);
}

/* The rest after multiples of pi/2, for floats from 2^16 on: the product with 2/pi in fixed point,
 * without its multiples of 4. */
static inline double real_reduce_large(float x, unsigned *quadrant)
{
    static const uint64_t two_over_pi[] = {0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
                                           0xdb6295993c439041, 0xfe5163abdebbc561};
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 23 & 255) - 150;
    uint64_t mantissa = (bits & 0x7FFFFF) | 0x800000;
    unsigned place = (unsigned)(64 + exponent - 2), word = place / 64, shift = place % 64;
    uint64_t window[2];
    for (unsigned i = 0; i < 2; i++)
        window[i] = shift
                        ? two_over_pi[word + i] << shift | two_over_pi[word + i + 1] >> (64 - shift)
                        : two_over_pi[word + i];
    /* 128 bits, of which two are before the point. */
    uint64_t low = window[1], high = window[0];
    uint64_t carry = (low >> 32) * mantissa + ((low & UINT32_MAX) * mantissa >> 32);
    uint64_t top = high * mantissa + (carry >> 32), rest = carry << 32 | (uint32_t)(low * mantissa);
    int64_t fraction = (int64_t)(top << 2 | rest >> 62); /* of a quarter turn, -1/2 to 1/2 */
    *quadrant = (unsigned)((top >> 62) + (fraction < 0));
    return (double)fraction * 0x1p-64 * real_half_pi;
}

/* Returns x without the multiples of pi/2 nearest to it, -pi/4 to pi/4, and their number. */
static inline double real_reduce(float x, unsigned *quadrant)
{
    if (fabsf(x) >= 0x1p16f) {
        double rest = real_reduce_large(fabsf(x), quadrant);
        if (x > 0)
            return rest;
        *quadrant = 4 - *quadrant % 4;
        return -rest;
    }
    const double round = 0x1.8p52;
    double shifted = x * 0x1.45f306dc9c883p-1 + round, n = shifted - round;
    *quadrant = (unsigned)real_bits(shifted);
    return x - n * 0x1.921fb54400000p+0 - n * 0x1.0b4611a626331p-34;
}

static inline double real_sin_part(double x)
{
    double z = x * x, p = -1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800;
    p = p * z + 1.0 / 362880;
    p = p * z - 1.0 / 5040;
    p = p * z + 1.0 / 120;
    p = p * z - 1.0 / 6;
    return x + x * z * p;
}

static inline double real_cos_part(double x)
{
    double z = x * x, p = 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600;
    p = p * z - 1.0 / 3628800;
    p = p * z + 1.0 / 40320;
    p = p * z - 1.0 / 720;
    p = p * z + 1.0 / 24;
    p = p * z - 0.5;
    return 1 + z * p;
}

/* Sine of x + turns * pi/2. */
static inline double real_sin_turned(float x, unsigned turns)
{
    if (!(fabsf(x) < INFINITY))
        return (double)NAN;
    unsigned quadrant;
    double rest = real_reduce(x, &quadrant);
    quadrant += turns;
    double value = quadrant & 1 ? real_cos_part(rest) : real_sin_part(rest);
    return quadrant & 2 ? -value : value;
}

/* 0 <= x <= 1: the angle of the nearest quarter, and the series of the rest. */
static inline double real_atan_part(double x)
{
    static const double angles[] = {0, 0x1.f5b75f92c80ddp-3, 0x1.dac670561bb4fp-2,
                                    0x1.4978fa3269ee1p-1, 0x1.921fb54442d18p-1};
    int quarter = (int)(x * 4 + 0.5);
    double near = quarter * 0.25, u = (x - near) / (1 + x * near), z = u * u;
    double p = -1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z - 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z - 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z - 1.0 / 3;
    return angles[quarter] + (u + u * z * p);
}

static inline double real_cbrt(double x)
{
    double size = fabs(x);
    if (!(size > 0) || size > 1e300)
        return x;
    double root = real_of(real_bits(size) / 3 + (UINT64_C(715094163) << 32));
    for (int i = 0; i < 4; i++)
        root -= (root * root * root - size) / (3 * root * root);
    return copysign(root, x);
}

#endif
