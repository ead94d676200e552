/*
 * Names are added under a lock, and read without one: what is in a list stays as it is.
 */
#include "capture/cuda/nvtx_names.h"

#include "base/base.h"
#include "capture/recorder/lock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct category {
    struct category *next;
    uint32_t number;
    char name[];
};

static struct lock lock = LOCK_INITIALIZER;

/* wchar_t is UTF-32 on Linux. Not wcstombs: it depends on the program's locale. Longer names are
 * cut at a character. */
const char *nvtx_narrow(const wchar_t *wide, char text[static NVTX_LONGEST_NAME])
{
    size_t used = 0;
    if (!wide)
        return NULL;
    for (; *wide && used < NVTX_LONGEST_NAME - 4; wide++) {
        uint32_t c = (uint32_t)*wide;
        if (c < 0x80) {
            text[used++] = (char)c;
        } else if (c < 0x800) {
            text[used++] = (char)(0xC0 | c >> 6);
            text[used++] = (char)(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            text[used++] = (char)(0xE0 | c >> 12);
            text[used++] = (char)(0x80 | (c >> 6 & 0x3F));
            text[used++] = (char)(0x80 | (c & 0x3F));
        } else {
            text[used++] = (char)(0xF0 | (c >> 18 & 7));
            text[used++] = (char)(0x80 | (c >> 12 & 0x3F));
            text[used++] = (char)(0x80 | (c >> 6 & 0x3F));
            text[used++] = (char)(0x80 | (c & 0x3F));
        }
    }
    text[used] = '\0';
    return text;
}

/* Whether a name that is kept is the first `size` bytes of a text. */
static bool is_text(const char *kept, const char *text, size_t size)
{
    return strncmp(kept, text, size) == 0 && kept[size] == '\0';
}

/* Programs may register a string each time they use it: it is kept once. */
struct registered *nvtx_register(const char *text)
{
    enum { CHAINS = 1024 };
    static struct registered *chains[CHAINS];
    if (!text)
        return NULL;
    size_t size = strnlen(text, NVTX_LONGEST_NAME - 1);
    struct registered **chain = &chains[hash_bytes(text, size) % CHAINS];
    lock_take(&lock);
    struct registered *string = *chain;
    while (string && !is_text(string->text, text, size))
        string = string->next;
    if (!string && (string = calloc(1, sizeof *string + size + 1))) {
        memcpy(string->text, text, size);
        string->next = *chain;
        *chain = string;
    }
    lock_release(&lock);
    return string;
}

/* Programs may create a domain in each of their threads: of those with the same name there is one.
 */
struct domain *nvtx_domain(const char *name)
{
    static struct domain *domains;
    if (!name)
        return NULL;
    size_t size = strnlen(name, NVTX_LONGEST_NAME - 1);
    lock_take(&lock);
    struct domain *domain = domains;
    while (domain && !is_text(domain->name, name, size))
        domain = domain->next;
    if (!domain && (domain = calloc(1, sizeof *domain + size + 1))) {
        memcpy(domain->name, name, size);
        domain->has_operations = strcmp(domain->name, "TSL") == 0;
        domain->next = domains;
        domains = domain;
    }
    lock_release(&lock);
    return domain;
}

/* ---- Categories ---------------------------------------------------------------------------- */

static struct category *_Atomic of_no_domain;

static struct category *find(struct category *list, uint32_t number)
{
    while (list && list->number != number)
        list = list->next;
    return list;
}

/* The first name stays. */
void nvtx_name_category(struct domain *domain, uint32_t category, const char *name)
{
    struct category *_Atomic *list = domain ? &domain->categories : &of_no_domain;
    if (!name)
        return;
    size_t size = strnlen(name, NVTX_LONGEST_NAME - 1);
    lock_take(&lock);
    struct category *first = atomic_load(list);
    struct category *added = find(first, category) ? NULL : calloc(1, sizeof *added + size + 1);
    if (added) {
        memcpy(added->name, name, size);
        added->number = category;
        added->next = first;
        atomic_store_explicit(list, added, memory_order_release);
    }
    lock_release(&lock);
}

const char *nvtx_category(const struct domain *domain, uint32_t category)
{
    struct category *first = domain
                                 ? atomic_load_explicit(&domain->categories, memory_order_acquire)
                                 : atomic_load_explicit(&of_no_domain, memory_order_acquire);
    struct category *found = find(first, category);
    return found ? found->name : NULL;
}
