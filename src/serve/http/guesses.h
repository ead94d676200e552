/*
 * Rate limiting of wrong access tokens per client address, internal to serve. After too many,
 * further tokens from that address are delayed and checked one at a time; other addresses are not
 * affected.
 */
#ifndef KYMO_SERVE_HTTP_GUESSES_H
#define KYMO_SERVE_HTTP_GUESSES_H

#include "serve/http/server.h"

struct guesses;
struct guesses *guesses_create(void);
void guesses_destroy(struct guesses *guesses);

enum guess_state {
    GUESS_CHECK,       /* compare the token */
    GUESS_KNOWN_WRONG, /* a recent wrong token again, e.g. from a page left open */
    GUESS_REFUSED,     /* too many concurrent attempts */
};
/* May block for the delay. token is a hash. */
enum guess_state guesses_admit(struct guesses *guesses, const struct request *request,
                               uint64_t token);
/* Records a wrong token. */
void guesses_add(struct guesses *guesses, const struct request *request, uint64_t token);
/* Seeded hash, not predictable for clients; before chains several tokens. */
uint64_t guesses_hash(const struct guesses *guesses, struct text text, uint64_t before);

#endif
