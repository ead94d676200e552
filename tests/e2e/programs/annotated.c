/*
 * Records what chance says and prints the same, one line an event, for test_record.py to compare:
 * thread, name, phase, id, args, and the wall clock before and after.
 */
#include <kymo/kymo.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, MOST_ARGS = 6 };

static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;
static int events;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t chance(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void print_event(int thread, const char *name, int phase, uint64_t id,
                        const struct kymo_arg *args, size_t count, int64_t before, int64_t after)
{
    printf("{\"thread\": %d, \"name\": \"%s\", \"phase\": %d, \"id\": %" PRIu64 ", \"args\": [",
           thread, name, phase, id);
    for (size_t i = 0; i < count; i++) {
        printf("%s[\"%s\", %d, ", i ? ", " : "", args[i].key ? args[i].key : "", (int)args[i].type);
        if (args[i].type == KYMO_INT)
            printf("%" PRId64 "]", args[i].value.i);
        else if (args[i].type == KYMO_UINT)
            printf("%" PRIu64 "]", args[i].value.u);
        else if (args[i].type == KYMO_DOUBLE)
            printf("%.17g]", args[i].value.d);
        else
            printf("\"%s\"]", args[i].value.text);
    }
    printf("], \"before\": %" PRId64 ", \"after\": %" PRId64 "}\n", before, after);
}

static void *record(void *number)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "a longer name", ""};
    static const char *const keys[] = {"k1", "k2", "k3", "k4", "k5", "k6", "k7"};
    static const char *const texts[] = {"x", "yy", "a text", ""};
    int thread = (int)(intptr_t)number;
    uint64_t state = (uint64_t)thread + 1;
    char name[32];
    snprintf(name, sizeof name, "thread %d", thread);
    kymo_thread_name(name);
    for (int e = 0; e < events; e++) {
        struct kymo_arg args[MOST_ARGS];
        size_t count = chance(&state) % (MOST_ARGS + 1);
        for (size_t i = 0; i < count; i++) {
            const char *key = keys[chance(&state) % 7];
            uint64_t value = chance(&state) * chance(&state) >> chance(&state) % 62;
            switch (chance(&state) % 4) {
            case 0:
                args[i] = kymo_int(key, (int64_t)(value % 2 ? value : 0 - value));
                break;
            case 1:
                args[i] = kymo_uint(key, value);
                break;
            case 2:
                args[i] = kymo_double(key, (double)value / 1024);
                break;
            default:
                args[i] = kymo_text(key, texts[value % 4]);
            }
        }
        const char *event = names[chance(&state) % 5];
        int phase = 1 + (int)(chance(&state) % 8);
        uint64_t id = chance(&state) % 3 ? 0 : chance(&state) << chance(&state) % 33;
        int64_t before = now_ns();
        kymo_named_event(event, (enum kymo_kind)phase, id, args, count);
        int64_t after = now_ns();
        pthread_mutex_lock(&print_lock);
        print_event(thread, event, phase, id, args, count, before, after);
        pthread_mutex_unlock(&print_lock);
    }
    return NULL;
}

/* The macros, on the main thread. */
static void macros(void)
{
    struct kymo_arg args[] = {kymo_int("rows", -7), kymo_text("mode", "fast")};
    struct kymo_arg value[] = {kymo_int(NULL, 42)};
    struct kymo_arg step[] = {kymo_int("step_num", 3)};
    int64_t before = now_ns();
    {
        KYMO_STEP_SCOPE("train", 3);
        KYMO_SCOPE("load", kymo_int("rows", -7), kymo_text("mode", "fast"));
        KYMO_COUNTER("queue", 42);
        KYMO_FLOW_BEGIN("request", 99);
        KYMO_INSTANT_AT(3, "too fine");
    }
    int64_t after = now_ns();
    print_event(-1, "train", KYMO_KIND_STEP, 0, step, 1, before, after);
    print_event(-1, "load", KYMO_KIND_BEGIN, 0, args, 2, before, after);
    print_event(-1, "queue", KYMO_KIND_COUNTER, 0, value, 1, before, after);
    print_event(-1, "request", KYMO_KIND_FLOW_BEGIN, 99, NULL, 0, before, after);
    print_event(-1, "load", KYMO_KIND_END, 0, NULL, 0, before, after);
    print_event(-1, "train", KYMO_KIND_END, 0, NULL, 0, before, after);
}

/* annotated EVENTS [SECONDS [COMMAND]]: records, waits, runs a command. */
int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    events = argc > 1 ? atoi(argv[1]) : 10;
    kymo_process_name("annotated");
    kymo_thread_name("main");
    macros();
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, record, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fflush(stdout);
    usleep(argc > 2 ? (useconds_t)(atof(argv[2]) * 1e6) : 0);
    return argc > 3 ? system(argv[3]) : 0;
}
