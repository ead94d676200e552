/*
 * Shared by the unit tests: cmocka with the headers it requires, a deterministic random number
 * generator, and a temporary folder per test.
 */
#ifndef KYMO_UNIT_SUPPORT_H
#define KYMO_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Children of fork are not searched for leaks when they exit: another thread of the parent may have
 * held a lock of the sanitizer's allocator, which nobody releases in the child, and the search
 * would wait for it for ever. */
static pid_t test_process;
__attribute__((constructor)) static void remember_process(void)
{
    test_process = getpid();
}

int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return getpid() != test_process;
}

#define TEST(name)    static void name(void **state __attribute__((unused)))
#define COUNT_OF(all) (sizeof(all) / sizeof *(all))

/* splitmix64, after Steele, Lea and Flood, "Fast splittable pseudorandom number generators". */
struct rng {
    uint64_t state;
};

static inline uint64_t rng_u64(struct rng *rng)
{
    uint64_t z = rng->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline size_t rng_below(struct rng *rng, size_t limit)
{
    return (size_t)(rng_u64(rng) % limit);
}

/* The bit width is uniform, so small numbers are as frequent as large ones. */
static inline uint64_t rng_any_width(struct rng *rng)
{
    size_t bits = rng_below(rng, 65);
    return bits == 0 ? 0 : rng_u64(rng) >> (64 - bits);
}

static inline void rng_fill(struct rng *rng, void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)data)[i] = (unsigned char)rng_u64(rng);
}

/* A copy in a block of exactly its size, so sanitizers catch reads past the end. */
static inline void *exact_copy(const void *data, size_t size)
{
    void *copy = malloc(size);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

struct scratch {
    char path[256];
};

/* For cmocka_unit_test_setup_teardown: *state is a struct scratch while the test runs. */
static inline int scratch_make(void **state)
{
    const char *parent = getenv("TMPDIR");
    struct scratch *scratch = malloc(sizeof *scratch);
    snprintf(scratch->path, sizeof scratch->path, "%s/kymo-unit-XXXXXX",
             parent && *parent ? parent : "/tmp");
    *state = scratch;
    return mkdtemp(scratch->path) ? 0 : -1;
}

static inline int scratch_remove_entry(const char *path, const struct stat *status, int kind,
                                       struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static inline int scratch_remove(void **state)
{
    struct scratch *scratch = *state;
    int result = nftw(scratch->path, scratch_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(scratch);
    return result;
}

struct scratch_name {
    char path[512];
};

static inline struct scratch_name scratch_name(void **state, const char *name)
{
    const struct scratch *scratch = *state;
    struct scratch_name result;
    snprintf(result.path, sizeof result.path, "%s/%s", scratch->path, name);
    return result;
}

static inline size_t scratch_entries(void **state)
{
    const struct scratch *scratch = *state;
    DIR *folder = opendir(scratch->path);
    assert_non_null(folder);
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

static inline void write_whole_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* NUL-terminated; the caller frees it. */
static inline char *read_whole_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *data = NULL;
    size_t capacity = 0;
    *size = 0;
    do {
        capacity = capacity * 2 + 4096;
        data = realloc(data, capacity);
        *size += fread(data + *size, 1, capacity - *size - 1, file);
    } while (*size == capacity - 1);
    fclose(file);
    data[*size] = '\0';
    return data;
}

#define SCRATCH_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

#endif
