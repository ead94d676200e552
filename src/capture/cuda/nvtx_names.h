/*
 * Names that programs register with NVTX: domains, strings, categories. They live as long as the
 * program.
 */
#ifndef KYMO_CAPTURE_CUDA_NVTX_NAMES_H
#define KYMO_CAPTURE_CUDA_NVTX_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_LONGEST_NAME = 1024 };

struct registered {
    struct registered *next;
    char text[];
};

struct category;
struct domain {
    struct domain *next;
    bool has_operations; /* XLA's */
    struct category *_Atomic categories;
    char name[];
};

/* UTF-8; returns `text`, or NULL for NULL. */
const char *nvtx_narrow(const wchar_t *wide, char text[static NVTX_LONGEST_NAME]);

/* NULL when out of memory, or without a name. The same name gives the same object. */
struct domain *nvtx_domain(const char *name);
struct registered *nvtx_register(const char *text);

/* In a domain; NULL: in none. A NULL name is ignored. */
void nvtx_name_category(struct domain *domain, uint32_t category, const char *name);
/* NULL when it has none. */
const char *nvtx_category(const struct domain *domain, uint32_t category);

#endif
