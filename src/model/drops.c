/*
 * The sentence on dropped events, written and read back.
 */
#include "model/drops.h"

#include <inttypes.h>
#include <stdio.h>

const char *drops_text(const struct drops *drops, char text[static DROPS_TEXT_SIZE])
{
    snprintf(text, DROPS_TEXT_SIZE,
             "Warning: %" PRIu64 " trace events were dropped during capture (stored %" PRIu64
             " out of %" PRIu64 " total events). Consider increasing buffer size, reducing trace "
             "duration, or filtering events.",
             drops->dropped, drops->stored, drops->stored + drops->dropped);
    return text;
}

/* Texts are of limited size and not terminated by 0 everywhere. */
bool drops_parse(struct text text, struct drops *drops)
{
    char copy[DROPS_TEXT_SIZE];
    uint64_t total;
    int end = 0;
    if (!text_starts(text, TEXT("Warning: ")) || text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return sscanf(copy,
                  "Warning: %" SCNu64 " trace events were dropped during capture (stored %" SCNu64
                  " out of %" SCNu64 " total events)%n",
                  &drops->dropped, &drops->stored, &total, &end) == 3 &&
           end > 0;
}

bool message_is_drops(const struct catalog *catalog, const struct message *message)
{
    struct drops ignored;
    return drops_parse(catalog_text(catalog, message->text), &ignored);
}

struct drops catalog_drops(const struct catalog *catalog)
{
    struct drops sum = {0}, one;
    const struct message *message;
    array_each (message, &catalog->messages) {
        if (!drops_parse(catalog_text(catalog, message->text), &one))
            continue;
        sum.dropped += one.dropped;
        sum.stored += one.stored;
    }
    return sum;
}

/* Whether a lane of the host is known to lack events. */
static bool has_incomplete(const struct catalog *catalog, uint32_t host)
{
    const struct track *track;
    array_each (track, &catalog->tracks)
        if (track->host == host && track->is_incomplete)
            return true;
    return false;
}

void catalog_mark_incomplete(struct catalog *catalog)
{
    const struct message *message;
    array_each (message, &catalog->messages) {
        if (!message_is_drops(catalog, message) || has_incomplete(catalog, message->host))
            continue;
        struct track *track;
        array_each (track, &catalog->tracks)
            track->is_incomplete |= track->host == message->host && track->level == TRACK_LANE;
    }
}
