/*
 * Any input as what the interposer fetches from a runtime.
 */
#include "capture/neuron/fetched.h"

#include <stdlib.h>
#include <string.h>

void fuzz_fetched(const uint8_t *data, size_t size);

/* All texts end, within their limits. */
static void take(void *user, struct fetched_event *event)
{
    size_t *events = user;
    size_t most = FETCHED_TEXT - 1;
    bool ok = strlen(event->type) <= most && event->count <= KYMO_MOST_ARGS && event->has_time;
    for (size_t i = 0; ok && i < event->count; i++)
        ok = strlen(event->args[i].key) <= most &&
             (event->args[i].type != KYMO_TEXT || strlen(event->args[i].value.text) <= most);
    if (!ok)
        abort();
    ++*events;
}

void fuzz_fetched(const uint8_t *data, size_t size)
{
    static char texts[FETCHED_TEXTS];
    struct fetched found;
    size_t events = 0;
    fetched_read((const char *)data, size, texts, take, &events, &found);
    if (found.events != events || found.offset > size)
        abort();
}
