/*
 * Fills in what queries of .sql files leave open.
 */
#include "sql/sql.h"

#include <assert.h>
#include <inttypes.h>

static const struct sql_blank *blank_at(const char *at, const struct sql_blank *blanks,
                                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(blanks[i].name);
        if (strncmp(at, blanks[i].name, size) == 0 && at[size] == '}')
            return &blanks[i];
    }
    return NULL;
}

void sql_fill(struct output *out, const char *query, const struct sql_blank *blanks, size_t count)
{
    for (const char *at = query; *at; at++) {
        if (at[0] != '{' || at[1] < 'A' || at[1] > 'Z') {
            output_char(out, *at);
            continue;
        }
        const struct sql_blank *blank = blank_at(at + 1, blanks, count);
        assert(blank);
        if (blank->text)
            output_text(out, blank->text);
        else
            output_format(out, "%" PRIi64, blank->number);
        at += strlen("{") + strlen(blank->name);
    }
}
