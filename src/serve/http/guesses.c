/*
 * Rate limiting of wrong tokens: a small table by client address with LRU eviction.
 */
#include "serve/http/guesses.h"

#include "serve/http/clients.h"

#include <sys/random.h>
#include <time.h>

struct guesser {
    struct client_address address;
    int64_t since_ms, last_ms;
    unsigned wrong; /* count since since_ms */
    bool is_waiting;
    uint64_t tokens[KEPT_GUESSES]; /* hashes of the latest wrong tokens */
    size_t next;
};

struct guesses {
    pthread_mutex_t lock;
    unsigned waiting;
    uint64_t seed;
    size_t count;
    struct guesser entries[MAX_GUESSERS];
};

struct guesses *guesses_create(void)
{
    struct guesses *guesses = mem_zeroed(1, sizeof *guesses);
    pthread_mutex_init(&guesses->lock, NULL);
    ssize_t got = getrandom(&guesses->seed, sizeof guesses->seed, 0);
    (void)got;
    return guesses;
}

void guesses_destroy(struct guesses *guesses)
{
    if (!guesses)
        return;
    pthread_mutex_destroy(&guesses->lock);
    mem_free(guesses);
}

uint64_t guesses_hash(const struct guesses *guesses, struct text text, uint64_t before)
{
    return hash_content(text.data, text.size, guesses->seed ^ before);
}

/* Call with the lock held. NULL if the address has no recent wrong tokens. */
static struct guesser *find(struct guesses *guesses, struct client_address address)
{
    for (size_t i = 0; i < guesses->count; i++)
        if (client_is_same(guesses->entries[i].address, address))
            return &guesses->entries[i];
    return NULL;
}

static struct guesser *add(struct guesses *guesses, struct client_address address)
{
    struct guesser *oldest = &guesses->entries[0];
    if (guesses->count < MAX_GUESSERS) {
        oldest = &guesses->entries[guesses->count++];
    } else {
        for (size_t i = 1; i < guesses->count; i++)
            if (guesses->entries[i].last_ms < oldest->last_ms)
                oldest = &guesses->entries[i];
    }
    *oldest = (struct guesser){.address = address, .since_ms = clock_monotonic_ms()};
    return oldest;
}

static bool is_known_wrong(const struct guesser *guesser, uint64_t token)
{
    for (size_t i = 0; i < KEPT_GUESSES; i++)
        if (guesser->tokens[i] == token)
            return true;
    return false;
}

/* Call with the lock held; it is released while waiting, so the table may change. */
static void delay_guess(struct guesses *guesses, struct guesser *guesser)
{
    static const struct timespec delay = {.tv_sec = GUESS_DELAY_MS / 1000,
                                          .tv_nsec = GUESS_DELAY_MS % 1000 * 1000000L};
    struct client_address address = guesser->address;
    guesser->is_waiting = true;
    guesses->waiting++;
    pthread_mutex_unlock(&guesses->lock);
    nanosleep(&delay, NULL);
    pthread_mutex_lock(&guesses->lock);
    guesses->waiting--;
    guesser = find(guesses, address);
    if (guesser)
        guesser->is_waiting = false;
}

enum guess_state guesses_admit(struct guesses *guesses, const struct request *request,
                               uint64_t token)
{
    enum guess_state state = GUESS_CHECK;
    struct client_address address = client_address(request->connection);
    pthread_mutex_lock(&guesses->lock);
    struct guesser *guesser = find(guesses, address);
    if (guesser && clock_monotonic_ms() - guesser->since_ms > GUESS_PERIOD_MS) {
        guesser->since_ms = clock_monotonic_ms();
        guesser->wrong = 0;
    }
    if (guesser && is_known_wrong(guesser, token)) {
        state = GUESS_KNOWN_WRONG;
    } else if (guesser && guesser->wrong >= MAX_GUESSES) {
        if (guesser->is_waiting || guesses->waiting >= MAX_DELAYED_GUESSES)
            state = GUESS_REFUSED;
        else
            delay_guess(guesses, guesser);
    }
    pthread_mutex_unlock(&guesses->lock);
    return state;
}

void guesses_add(struct guesses *guesses, const struct request *request, uint64_t token)
{
    struct client_address address = client_address(request->connection);
    pthread_mutex_lock(&guesses->lock);
    struct guesser *guesser = find(guesses, address);
    if (!guesser)
        guesser = add(guesses, address);
    guesser->wrong++;
    guesser->last_ms = clock_monotonic_ms();
    guesser->tokens[guesser->next++ % KEPT_GUESSES] = token;
    pthread_mutex_unlock(&guesses->lock);
}
