/*
 * Inside serve: wrong tokens are counted by address. An address with too many of them gets the next
 * ones looked at slowly and one at a time; other addresses are not affected.
 */
#ifndef KYMO_SERVE_GUESSES_H
#define KYMO_SERVE_GUESSES_H

#include "serve/server.h"

struct guesses;
struct guesses *guesses_create(void);
void guesses_destroy(struct guesses *guesses);

enum guess_state {
    GUESS_CHECK,       /* the token may be looked at */
    GUESS_KNOWN_WRONG, /* it is known to be wrong: a page that was left open asks again and again */
    GUESS_REFUSED,     /* too many at once */
};
/* May wait before it answers. The token is given by its hash. */
enum guess_state guesses_admit(struct guesses *guesses, const struct request *request,
                               uint64_t token);
/* The token was wrong. */
void guesses_add(struct guesses *guesses, const struct request *request, uint64_t token);
/* A hash that nobody outside can predict. */
uint64_t guesses_hash(const struct guesses *guesses, struct text text, uint64_t before);

#endif
