/*
 * Quantities as text: counts, times, sizes, shares, dates.
 */
#include "base/quantity.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

const char *format_count(uint64_t count, char text[static QUANTITY_SIZE])
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    assert(size > 0);
    int at = 0;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

static const char *format_scaled(double value, const char *const *units, const double *scales,
                                 size_t count, char text[static QUANTITY_SIZE])
{
    size_t unit = 0;
    while (unit + 1 < count && fabs(value) >= scales[unit + 1] * 0.9995)
        unit++;
    double scaled = value / scales[unit];
    int decimals = fabs(scaled) >= 99.95 ? 0 : fabs(scaled) >= 9.995 ? 1 : 2;
    if (scaled == 0)
        snprintf(text, QUANTITY_SIZE, "0");
    else
        snprintf(text, QUANTITY_SIZE, "%.*f %s", decimals, scaled, units[unit]);
    return text;
}

const char *format_ps(double ps, char text[static QUANTITY_SIZE])
{
    static const char *const units[] = {"ps", "ns", "us", "ms", "s"};
    static const double scales[] = {1, 1e3, 1e6, 1e9, 1e12};
    return format_scaled(ps, units, scales, 5, text);
}

const char *format_bytes(uint64_t bytes, char text[static QUANTITY_SIZE])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    static const double scales[] = {1, 1e3, 1e6, 1e9, 1e12};
    if (bytes < 1000)
        snprintf(text, QUANTITY_SIZE, "%llu bytes", (unsigned long long)bytes);
    else
        format_scaled((double)bytes, units, scales, 5, text);
    return text;
}

const char *format_epoch(int64_t epoch_ns, char text[static QUANTITY_SIZE])
{
    time_t seconds = (time_t)(epoch_ns / 1000000000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) ||
        strftime(text, QUANTITY_SIZE, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        snprintf(text, QUANTITY_SIZE, "unknown");
    return text;
}

const char *format_uuid(const uint8_t uuid[static 16], char text[static QUANTITY_SIZE])
{
    char *at = text;
    for (int i = 0; i < 16; i++)
        at += snprintf(at, 4, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    return text;
}
