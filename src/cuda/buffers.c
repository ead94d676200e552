/*
 * A list of free buffers, linked through their first bytes.
 */
#include "cuda/buffers.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { PREPARED = 8, MOST_BUFFERS = 128, LINK_SIZE = sizeof(uint8_t *) };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *free_list;
static unsigned allocated;

static uint8_t *allocate(int flags)
{
    void *buffer =
        mmap(NULL, BUFFER_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return buffer == MAP_FAILED ? NULL : buffer;
}

static void push(uint8_t *buffer)
{
    memcpy(buffer, &free_list, LINK_SIZE);
    free_list = buffer;
}

bool buffers_prepare(void)
{
    pthread_mutex_lock(&lock);
    while (allocated < PREPARED) {
        uint8_t *buffer = allocate(MAP_POPULATE);
        if (!buffer)
            break;
        push(buffer);
        allocated++;
    }
    bool ok = allocated >= PREPARED;
    pthread_mutex_unlock(&lock);
    return ok;
}

uint8_t *buffers_take(void)
{
    pthread_mutex_lock(&lock);
    uint8_t *buffer = free_list;
    bool is_new = !buffer && allocated < MOST_BUFFERS;
    if (buffer) {
        memcpy(&free_list, buffer, LINK_SIZE);
        memset(buffer, 0, LINK_SIZE);
    }
    allocated += is_new;
    pthread_mutex_unlock(&lock);
    return is_new ? allocate(0) : buffer;
}

void buffers_return(uint8_t *buffer, size_t written)
{
    memset(buffer, 0, written < BUFFER_SIZE ? written : BUFFER_SIZE);
    pthread_mutex_lock(&lock);
    push(buffer);
    pthread_mutex_unlock(&lock);
}
