/*
 * Events that a capture lost because its buffers were full. There is one definition of how many:
 * the number in the capture's messages, in the words of Neuron's guides. All formats that Kymo
 * writes carry messages, so a profile that was converted or stored says the same as its capture.
 */
#ifndef KYMO_MODEL_DROPS_H
#define KYMO_MODEL_DROPS_H

#include "model/catalog.h"

struct drops {
    uint64_t dropped, stored;
};

enum { DROPS_TEXT_SIZE = 320 };
/* "Warning: 1001 trace events were dropped during capture (stored 530560 out of 531561 …" */
const char *drops_text(const struct drops *drops, char text[static DROPS_TEXT_SIZE]);
/* Reads what drops_text wrote; false for other texts. */
bool drops_parse(struct text text, struct drops *drops);

/* Sums over the messages of a capture; nothing was dropped if there are none. */
struct drops catalog_drops(const struct catalog *catalog);
bool message_is_drops(const struct catalog *catalog, const struct message *message);

/* Where a host dropped events and its format does not say on which lanes, any lane may lack
 * some. */
void catalog_mark_incomplete(struct catalog *catalog);

#endif
