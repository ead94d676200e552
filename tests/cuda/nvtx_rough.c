/*
 * A program that uses NVTX roughly. It prints what the calls return.
 *
 *   nvtx_rough nulls          every function with what a program must not, but may, pass
 *   nvtx_rough threads N      N threads, one after the other, each with ranges; prints by how many
 *                             bytes the memory that is allocated has grown
 */
#include "nvtx_client.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated(void)
{
    struct mallinfo2 all = mallinfo2();
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
                                                   : all.uordblks + all.hblkhd;
}

/* ---- Threads ------------------------------------------------------------------------------- */

/* A domain and a string for each thread, as a library has that does not know of others. */
static void *annotate(void *unused)
{
    void *domain = NVTX_CALL(void *, (const char *), NVTX_CORE2, 12, NULL, "TSL");
    struct nvtx_attributes attributes = {
        .version = 3, .size = sizeof attributes, .message_type = NVTX_REGISTERED};
    attributes.message.registered =
        NVTX_CALL(void *, (void *, const char *), NVTX_CORE2, 10, NULL, domain, "registered");
    for (int i = 0; i < 3; i++) {
        NVTX_CALL(int, (const char *), NVTX_CORE, 9, 0, "range");
        NVTX_CALL(int, (void *, const struct nvtx_attributes *), NVTX_CORE2, 4, 0, domain,
                  &attributes);
        NVTX_CALL(int, (void *), NVTX_CORE2, 5, 0, domain);
    }
    NVTX_CALL(int, (void), NVTX_CORE, 11, 0);
    return unused;
}

static void run_threads(int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, annotate, NULL) != 0)
            exit(3);
        pthread_join(thread, NULL);
    }
}

/* ---- Nulls --------------------------------------------------------------------------------- */

static void push_and_pop(int depth)
{
    printf("pushed to %d\n", depth);
    printf("popped to %d\n", NVTX_CALL(int, (void), NVTX_CORE, 11, -9));
}

static void pass_nulls(void)
{
    void *domain = NVTX_CALL(void *, (const char *), NVTX_CORE2, 12, NULL, "own");
    struct nvtx_attributes whole = {.version = 3, .size = sizeof whole, .message_type = NVTX_ASCII};
    void *none = NULL;
    for (unsigned id = 1; id <= 3; id++) /* mark: attributes, text, wide text */
        NVTX_CALL(int, (const void *), NVTX_CORE, id, 0, none);
    for (unsigned id = 4; id <= 6; id++) /* start */
        NVTX_CALL(int, (uint64_t), NVTX_CORE, 7, 0,
                  NVTX_CALL(uint64_t, (const void *), NVTX_CORE, id, 0, none));
    for (unsigned id = 8; id <= 10; id++)
        push_and_pop(NVTX_CALL(int, (const void *), NVTX_CORE, id, -9, none));
    for (unsigned id = 12; id <= 15; id++) /* names of categories and threads */
        NVTX_CALL(int, (uint32_t, const void *), NVTX_CORE, id, 0, (uint32_t)gettid(), none);
    for (int is_own = 0; is_own < 2; is_own++) {
        void *in = is_own ? domain : NULL;
        NVTX_CALL(int, (void *, const void *), NVTX_CORE2, 1, 0, in, none);
        NVTX_CALL(int, (void *, uint64_t), NVTX_CORE2, 3, 0, in,
                  NVTX_CALL(uint64_t, (void *, const void *), NVTX_CORE2, 2, 0, in, none));
        NVTX_CALL(int, (void *, const void *), NVTX_CORE2, 4, 0, in, none);
        NVTX_CALL(int, (void *), NVTX_CORE2, 5, 0, in);
        for (unsigned id = 8; id <= 9; id++)
            NVTX_CALL(int, (void *, uint32_t, const void *), NVTX_CORE2, id, 0, in, 7, none);
        for (unsigned id = 10; id <= 11; id++)
            printf("registered %d\n", NVTX_CALL(void *, (void *, const void *), NVTX_CORE2, id,
                                                NULL, in, none) != NULL);
        for (int form = NVTX_ASCII; form <= NVTX_REGISTERED + 1; form++) {
            whole.message_type = form;
            NVTX_CALL(int, (void *, const void *), NVTX_CORE2, 1, 0, in, &whole);
        }
    }
    for (unsigned id = 12; id <= 13; id++)
        printf("created %d\n",
               NVTX_CALL(void *, (const void *), NVTX_CORE2, id, NULL, none) != NULL);
}

/* Attributes that are shorter than they should be lie at the end of their memory: under
 * AddressSanitizer, reading more of them is an error. */
static void pass_wrong_sizes(void)
{
    static const uint16_t sizes[] = {0, 4, 8, 24, 32, 40};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint16_t *cut = malloc(sizes[i] < 4 ? 4 : sizes[i]);
        memset(cut, 1, sizes[i]);
        cut[0] = 3;
        cut[1] = sizes[i];
        push_and_pop(NVTX_CALL(int, (const void *), NVTX_CORE, 8, -9, (const void *)cut));
        free(cut);
    }
    struct nvtx_attributes unfilled;
    memset(&unfilled, 1, sizeof unfilled);
    unfilled.version = 0;
    push_and_pop(NVTX_CALL(int, (const void *), NVTX_CORE, 8, -9, (const void *)&unfilled));
}

static void pop_too_often(void)
{
    void *domain = NVTX_CALL(void *, (const char *), NVTX_CORE2, 12, NULL, "own");
    printf("popped to %d\n", NVTX_CALL(int, (void), NVTX_CORE, 11, -9));
    for (int i = 0; i < 100; i++)
        NVTX_CALL(int, (const char *), NVTX_CORE, 9, 0, "deep");
    for (int i = 0; i < 99; i++)
        NVTX_CALL(int, (void), NVTX_CORE, 11, 0);
    printf("popped to %d\n", NVTX_CALL(int, (void *), NVTX_CORE2, 5, -9, domain));
    printf("popped to %d\n", NVTX_CALL(int, (void), NVTX_CORE, 11, -9));
    printf("popped to %d\n", NVTX_CALL(int, (void), NVTX_CORE, 11, -9));
    for (uint64_t id = 1; id; id <<= 1)
        NVTX_CALL(int, (uint64_t), NVTX_CORE, 7, 0, id | id << 8);
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "threads") == 0) {
        const char *seconds = getenv("KYMO_SOAK_SECONDS"); /* longer in `make soak` */
        time_t end = time(NULL) + (seconds ? atoi(seconds) : 0);
        run_threads(50);
        size_t before = allocated(), after;
        do
            run_threads(atoi(arguments[2]));
        while (time(NULL) < end);
        after = allocated();
        printf("%zu\n", after > before ? after - before : 0);
        return 0;
    }
    if (count != 2 || strcmp(arguments[1], "nulls") != 0)
        return 3;
    pass_nulls();
    pass_wrong_sizes();
    pop_too_often();
    return 0;
}
