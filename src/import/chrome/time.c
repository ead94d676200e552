/*
 * Chrome trace JSON: times. They are microseconds with any number of decimals, exact to the
 * picosecond, so they are not parsed as floating point.
 */
#include "import/chrome/chrome_passes.h"

enum { PS_PER_US = 1000000, PS_DIGITS = 6 };

typedef unsigned __int128 wide; /* microseconds since 1970 as picoseconds need 71 bits */

static wide power_of_ten(uint32_t exponent)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    if (exponent < sizeof powers / sizeof *powers)
        return powers[exponent];
    return powers[6] * power_of_ten(exponent - 6);
}

/* The digits of a number that do not fit 64 bits, up to 128 bits. */
static wide all_digits(const struct json_number *number, int32_t *exponent)
{
    enum { MAX_DIGITS = 37 };
    wide digits = 0;
    int32_t count = 0;
    for (size_t i = 0; i < number->text.size && (number->text.data[i] | 0x20) != 'e'; i++) {
        uint64_t digit = (uint64_t)(unsigned char)number->text.data[i] - '0';
        if (digit > 9 || count == MAX_DIGITS)
            continue;
        digits = digits * 10 + digit;
        count += digits > 0;
    }
    *exponent = number->exponent;
    for (uint64_t kept = number->digits; kept > 0; kept /= 10)
        count--;
    *exponent -= count;
    return digits;
}

#define MAX_PS ((wide)1 << 100)

/* Numbers of any length. */
static wide slow_magnitude_ps(const struct json_number *number)
{
    enum { MAX_POWER = 37, MAX_FACTOR = 18 };
    int32_t exponent = number->exponent;
    wide digits = number->is_rounded ? all_digits(number, &exponent) : number->digits;
    exponent += PS_DIGITS;
    if (digits == 0 || exponent < -MAX_POWER)
        return 0;
    if (exponent < 0) {
        wide power = power_of_ten((uint32_t)-exponent);
        return digits / power + (digits % power >= power - digits % power);
    }
    if (exponent > MAX_FACTOR || digits > MAX_PS / power_of_ten((uint32_t)exponent))
        return MAX_PS;
    return digits * power_of_ten((uint32_t)exponent);
}

/* Microseconds as picoseconds, saturated beyond any value in use. */
static wide magnitude_ps(const struct json_number *number)
{
    static const uint32_t powers[PS_DIGITS + 1] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    if (number->is_rounded || number->exponent > 0 || number->exponent < -PS_DIGITS)
        return slow_magnitude_ps(number);
    return (wide)number->digits * powers[-number->exponent];
}

bool chrome_picoseconds(const struct json_number *number, int64_t from_us, int64_t *ps)
{
    const wide largest = (wide)1 << 62;
    __int128 time = (__int128)magnitude_ps(number), from = (__int128)from_us * PS_PER_US;
    time = (number->is_negative ? -time : time) - from;
    if (time >= -(__int128)largest && time <= (__int128)largest) {
        *ps = (int64_t)time;
        return true;
    }
    *ps = time < 0 ? -(int64_t)largest : (int64_t)largest;
    return false;
}

int64_t chrome_microseconds(const struct json_number *time)
{
    wide us = magnitude_ps(time) / PS_PER_US;
    if (us > INT64_MAX)
        return 0;
    return time->is_negative ? -(int64_t)us : (int64_t)us;
}
