/*
 * Hashing by 64 x 64 -> 128-bit multiplication, folded back to 64 bits.
 */
#include "base/hash.h"

#include <string.h>
#include <sys/random.h>

/* Odd constants with mixed bits: the fractional parts of the square roots of 2, 3 and 5. */
static const uint64_t MIX_A = 0x6A09E667F3BCC909u, MIX_B = 0xBB67AE8584CAA73Bu,
                      MIX_C = 0x3C6EF372FE94F82Bu;

static uint64_t run_seed;

/* Without random numbers the seed stays 0: slower on hostile files, but still correct. */
__attribute__((constructor)) static void choose_seed(void)
{
    if (getrandom(&run_seed, sizeof run_seed, GRND_NONBLOCK) != (ssize_t)sizeof run_seed)
        run_seed = 0;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_u64(uint64_t value)
{
    return fold(fold(value ^ run_seed ^ MIX_A, MIX_B),
                MIX_C); /* with one fold, multiples of 2^n collide */
}

uint64_t hash_content(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *at = data;
    uint64_t key = seed ^ MIX_A, state = seed ^ MIX_C ^ size;
    size_t left = size;
    while (left >= 16) {
        uint64_t low, high;
        memcpy(&low, at, 8);
        memcpy(&high, at + 8, 8);
        state = fold(low ^ key, high ^ state);
        at += 16;
        left -= 16;
    }
    uint64_t low = 0, high = 0;
    if (left > 8) {
        memcpy(&low, at, 8);
        memcpy(&high, at + 8, left - 8);
    } else if (left > 0) {
        memcpy(&low, at, left);
    }
    return fold(fold(low ^ key, high ^ state), MIX_B);
}

uint64_t hash_bytes(const void *data, size_t size)
{
    return hash_content(data, size, run_seed);
}
