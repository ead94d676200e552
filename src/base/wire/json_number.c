/*
 * JSON reader, slow paths that its other file and its header fall back to: keywords, and numbers of
 * any length and form, with correctly rounded doubles.
 */
#include "base/wire/json_read.h"

#include <math.h>
#include <stdlib.h>

const char JSON_CUT_OFF[] = "unexpected end of the file";

enum { MAX_DIGITS = 19, MAX_EXPONENT = 100000 };

bool json_read_keyword(struct json_reader *in, struct text word)
{
    size_t left = (size_t)(in->end - in->at);
    size_t size = left < word.size ? left : word.size;
    if (memcmp(in->at, word.data, size) != 0)
        return false;
    in->at += size;
    return size == word.size || json_fail(in, JSON_CUT_OFF);
}

static bool read_nonfinite(struct json_reader *in, struct json_number *number)
{
    static const struct text words[] = {{"NaN", 3}, {"Infinity", 8}, {"nan", 3}, {"inf", 3}};
    number->is_nonfinite = true;
    number->is_whole = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !in->problem; i++)
        if (json_read_keyword(in, words[i]))
            return true;
    return in->problem ? false : json_fail(in, "malformed value");
}

struct digits {
    uint64_t value;
    uint32_t count;   /* without leading zeros */
    uint32_t dropped; /* digits that did not fit */
    uint32_t seen;
};

static void read_digits(struct json_reader *in, struct digits *digits)
{
    for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++) {
        uint64_t digit = (uint64_t)(*in->at - '0');
        digits->seen++;
        if (digits->count < MAX_DIGITS) {
            digits->value = digits->value * 10 + digit;
            digits->count += digits->value > 0;
        } else if (digits->count == MAX_DIGITS && digits->dropped == 0 &&
                   digits->value <= (UINT64_MAX - digit) / 10) {
            digits->value = digits->value * 10 + digit; /* a 20th digit may still fit in 64 bits */
            digits->count++;
        } else {
            digits->dropped++;
        }
    }
}

static bool no_digits(struct json_reader *in)
{
    return json_fail(in, in->at == in->end ? JSON_CUT_OFF : "malformed number");
}

static bool read_exponent(struct json_reader *in, int32_t *exponent)
{
    in->at++;
    bool is_negative = in->at < in->end && *in->at == '-';
    in->at += in->at < in->end && (*in->at == '-' || *in->at == '+');
    struct digits digits = {0};
    read_digits(in, &digits);
    if (digits.seen == 0)
        return no_digits(in);
    bool is_small = digits.dropped == 0 && digits.value < MAX_EXPONENT;
    int32_t value = is_small ? (int32_t)digits.value : MAX_EXPONENT;
    *exponent += is_negative ? -value : value;
    return true;
}

/* The fraction's digits are appended to the integer part's; trailing zeros that no longer fit are
 * dropped. */
static bool read_fraction(struct json_reader *in, struct json_number *number, struct digits *digits)
{
    uint32_t seen = digits->seen, dropped = digits->dropped;
    in->at++;
    read_digits(in, digits);
    number->is_whole = false;
    number->exponent -= (int32_t)(digits->seen - seen - (digits->dropped - dropped));
    return digits->seen > seen || no_digits(in);
}

/* Takes any number that JSON allows, and NaN and infinities. The text is kept as well, so that
 * json_double can round a number of more than 19 digits from all of them. */
bool json_read_any_number(struct json_reader *in, struct json_number *number)
{
    const char *start = in->at;
    *number = (struct json_number){.is_whole = true};
    if (in->at < in->end && *in->at == '-') {
        number->is_negative = true;
        in->at++;
    }
    const char *first = in->at;
    struct digits digits = {0};
    read_digits(in, &digits);
    if (digits.seen > 1 && *first == '0')
        return json_fail(in, "malformed number");
    bool ok = true;
    if (digits.seen == 0) {
        ok = in->at < in->end ? read_nonfinite(in, number) : no_digits(in);
    } else {
        number->exponent = (int32_t)digits.dropped;
        if (in->at < in->end && *in->at == '.')
            ok = read_fraction(in, number, &digits);
        if (ok && in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
            number->is_whole = false;
            ok = read_exponent(in, &number->exponent);
        }
    }
    number->digits = digits.value;
    number->is_rounded = digits.dropped > 0;
    number->text = (struct text){start, (size_t)(in->at - start)};
    return ok;
}

static double word_double(const struct json_number *number)
{
    bool is_nan = number->text.data[number->text.size - 1] == 'N' ||
                  number->text.data[number->text.size - 1] == 'n';
    double value = is_nan ? (double)NAN : (double)INFINITY;
    return number->is_negative ? -value : value;
}

/* strtod on the text itself, which rounds correctly at any length. */
static double slow_double(struct text text)
{
    char buffer[64];
    char *copy = text.size < sizeof buffer ? buffer : mem_alloc(text.size + 1);
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    double value = strtod(copy, NULL);
    if (copy != buffer)
        mem_free(copy);
    return value;
}

double json_number_double(const struct json_number *number)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { EXACT_POWERS = sizeof powers / sizeof *powers };
    if (number->is_nonfinite)
        return word_double(number);
    /* Both operands are exact, so there is only one rounding. After Clinger, "How to read floating
     * point numbers accurately". */
    if (number->is_rounded || number->digits > (uint64_t)1 << 53 ||
        number->exponent <= -EXACT_POWERS || number->exponent >= EXACT_POWERS)
        return slow_double(number->text);
    double value = (double)number->digits;
    value =
        number->exponent < 0 ? value / powers[-number->exponent] : value * powers[number->exponent];
    return number->is_negative ? -value : value;
}
