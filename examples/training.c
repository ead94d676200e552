/*
 * Example of the annotation API: a loader thread prepares batches, the main thread trains on them
 * in steps, and a flow connects each batch to the step that uses it. Record it with:
 *
 *     kymo inspect -o output bin/examples/training 50
 */
#include "kymo/kymo.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { QUEUE = 4, WORK = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static long steps, loaded, trained;
static volatile double sink;

static void compute(long amount)
{
    double sum = 0;
    for (long i = 1; i < amount * WORK; i++)
        sum += 1.0 / (double)i;
    sink = sum;
}

static void *load_batches(void *argument)
{
    (void)argument;
    kymo_thread_name("loader");
    for (long batch = 0; batch < steps; batch++) {
        {
            KYMO_SCOPE("load batch", kymo_int("batch", batch), kymo_text("file", "shard-00.bin"));
            compute(2);
            KYMO_FLOW_BEGIN("batch", (uint64_t)batch + 1);
        }
        pthread_mutex_lock(&lock);
        while (loaded - trained >= QUEUE)
            pthread_cond_wait(&moved, &lock);
        loaded++;
        KYMO_COUNTER("batches waiting", loaded - trained);
        pthread_cond_broadcast(&moved);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void wait_for_batch(void)
{
    KYMO_SCOPE("wait for batch");
    pthread_mutex_lock(&lock);
    while (loaded == trained)
        pthread_cond_wait(&moved, &lock);
    trained++;
    KYMO_COUNTER("batches waiting", loaded - trained);
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
}

static void train(long step)
{
    KYMO_STEP_SCOPE("train", step);
    wait_for_batch();
    KYMO_FLOW_END("batch", (uint64_t)step + 1);
    {
        KYMO_SCOPE("forward");
        compute(3);
    }
    {
        KYMO_SCOPE("backward");
        compute(5);
    }
    {
        KYMO_SCOPE("optimizer", kymo_double("learning rate", 0.001 / (double)(step + 1)));
        compute(1);
    }
    if (step % 10 == 9)
        KYMO_INSTANT("checkpoint", kymo_int("step", step));
}

int main(int count, char **arguments)
{
    steps = count > 1 ? strtol(arguments[1], NULL, 10) : 50;
    kymo_process_name("training example");
    pthread_t loader;
    if (steps < 1 || pthread_create(&loader, NULL, load_batches, NULL) != 0) {
        fprintf(stderr, "usage: training [STEPS]\n");
        return 2;
    }
    for (long step = 0; step < steps; step++)
        train(step);
    pthread_join(loader, NULL);
    printf("%ld steps done\n", steps);
    return 0;
}
