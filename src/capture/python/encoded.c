/*
 * Args in names: "name#key=value,key=value#". Commas within quotes or brackets do not separate
 * args. A value is an int64, a uint64, a double or a text, whichever it can be first.
 */
#include "capture/python/python.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

/* What ends a part of a text that is not taken apart; 0 for other characters. */
static char closing_of(char opening)
{
    switch (opening) {
    case '(':
        return ')';
    case '[':
        return ']';
    case '{':
        return '}';
    case '"':
    case '\'':
        return opening;
    default:
        return '\0';
    }
}

/* The end of an arg: the comma behind it, or the end of the text. */
static char *end_of_arg(char *text)
{
    char open[DEEPEST];
    size_t depth = 0;
    for (; *text && !(*text == ',' && depth == 0); text++) {
        bool is_quoted = depth > 0 && (open[depth - 1] == '"' || open[depth - 1] == '\'');
        char closing = is_quoted ? '\0' : closing_of(*text);
        if (depth > 0 && *text == open[depth - 1])
            depth--;
        else if (closing && depth < DEEPEST)
            open[depth++] = closing;
    }
    return text;
}

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    for (size_t size = strlen(text); size > 0 && isspace((unsigned char)text[size - 1]);)
        text[--size] = '\0';
    return text;
}

static bool is_whole(const char *text, const char *end)
{
    return end != text && *end == '\0' && errno == 0;
}

static struct kymo_arg arg_of(const char *key, const char *value)
{
    char *end;
    errno = 0;
    long long integer = strtoll(value, &end, 10);
    if (is_whole(value, end))
        return kymo_int(key, integer);
    errno = 0;
    unsigned long long large = strtoull(value, &end, 10);
    if (is_whole(value, end) && *value != '-')
        return kymo_uint(key, large);
    errno = 0;
    double number = PyOS_string_to_double(value, NULL, NULL); /* whatever the locale */
    if (!PyErr_Occurred())
        return kymo_double(key, number);
    PyErr_Clear();
    return kymo_text(key, value);
}

/* Cuts `text` at the separators, so that keys and values point into it. Args without a key or a
 * value are skipped. */
size_t encoded_args(char *text, struct kymo_arg *args, size_t count)
{
    size_t size = strlen(text);
    if (size == 0 || text[size - 1] != '#')
        return count;
    text[size - 1] = '\0';
    char *at = strchr(text, '#'), *next;
    if (!at)
        return count;
    *at++ = '\0';
    at[strcspn(at, "#")] = '\0';
    for (; *at && count < KYMO_MOST_ARGS; at = next) {
        next = end_of_arg(at);
        if (*next)
            *next++ = '\0';
        char *value = strchr(at, '=');
        if (!value)
            continue;
        *value++ = '\0';
        char *key = trimmed(at);
        value = trimmed(value);
        if (*key && *value)
            args[count++] = arg_of(key, value);
    }
    return count;
}
