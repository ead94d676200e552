/*
 * Chrome trace JSON: splits a file into chunks. One scan over the file tracks only quotes and
 * brackets, 64 characters at a time, and ends a chunk after an event. Metadata around the lists of
 * events is parsed on the way.
 */
#include "import/chrome/chrome_passes.h"

#include <assert.h>

enum {
    MAX_CHUNK = 512 << 10, /* text and columns of a thousand events stay in the L2 cache */
    MIN_CHUNK = 4 << 10,
    TARGET_CHUNKS = 64, /* of smaller files: enough work for every core */
    BLOCK_SIZE = 64,
};

/* A bit for each character of a block. */
struct block {
    uint64_t quotes, backslashes, opens, closes;
};

/* Sixteen characters; GCC and Clang map these to SIMD instructions. */
typedef uint8_t vector __attribute__((vector_size(16)));

/* The pairwise sums of a, followed by those of b. */
static inline vector add_pairs(vector a, vector b)
{
    vector even =
        __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    vector odd =
        __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return even + odd;
}

/* A bit for each of 64 characters: whether it is c. */
static inline uint64_t equal_bits(const vector text[static 4], uint8_t character)
{
    const vector bits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    vector same[4];
    for (unsigned i = 0; i < 4; i++)
        same[i] = (vector)(text[i] == character) & bits;
    vector sums = add_pairs(add_pairs(same[0], same[1]), add_pairs(same[2], same[3]));
    sums = add_pairs(sums, sums);
    uint64_t result;
    memcpy(&result, &sums, sizeof result);
    return result;
}

static inline struct block load_block(const char *data)
{
    vector text[4];
    memcpy(text, data, sizeof text);
    struct block block = {.quotes = equal_bits(text, '"'), .backslashes = equal_bits(text, '\\')};
    for (unsigned i = 0; i < 4; i++)
        text[i] |= 0x20; /* maps '[' to '{' and ']' to '}' */
    block.opens = equal_bits(text, '{');
    block.closes = equal_bits(text, '}');
    return block;
}

/* Not every processor has an instruction for this; without one, the compiler would emit a call. */
static inline int64_t count_bits(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (int64_t)(bits * 0x0101010101010101u >> 56);
}

struct scan {
    int64_t depth;      /* nesting depth inside the list of events */
    uint64_t in_string; /* all bits set when the last block ended inside a string */
    bool is_escaped;    /* the next character is escaped */
    const char *target; /* the chunk may end from here on */
    bool at_list_end;
};

/* The characters after a backslash that is not itself escaped. */
static uint64_t escaped_bits(struct scan *scan, uint64_t backslashes)
{
    uint64_t escaped = scan->is_escaped;
    scan->is_escaped = false;
    for (; backslashes; backslashes &= backslashes - 1) {
        unsigned at = (unsigned)__builtin_ctzll(backslashes);
        if (escaped >> at & 1)
            continue;
        if (at == BLOCK_SIZE - 1)
            scan->is_escaped = true;
        else
            escaped |= (uint64_t)2 << at;
    }
    return escaped;
}

/* Prefix XOR: all bits between two quotes are set. */
static inline uint64_t sums_of_bits(uint64_t bits)
{
    for (unsigned i = 1; i < 64; i *= 2)
        bits ^= bits << i;
    return bits;
}

/* Processes the brackets of a block one by one: returns the end of the chunk, or NULL. */
static const char *walk_block(struct scan *scan, const struct block *block, const char *at)
{
    int64_t depth = scan->depth;
    for (uint64_t left = block->opens | block->closes; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        depth += block->opens >> i & 1 ? 1 : -1;
        if (depth < 0) {
            scan->at_list_end = true;
            return at + i;
        }
        if (depth == 0 && block->closes >> i & 1 && at + i >= scan->target)
            return at + i + 1;
    }
    return NULL;
}

/* The end of the chunk that begins here: after an event, before the bracket that ends the list, or
 * at the end of the file. */
static const char *find_end(struct scan *scan, const char *at, const char *end)
{
    for (; at < end; at += BLOCK_SIZE) {
        char last[BLOCK_SIZE];
        const char *data = at;
        assert(at);
        if (end - at < BLOCK_SIZE) {
            memset(last, ' ', sizeof last);
            memcpy(last, at, (size_t)(end - at));
            data = last;
        }
        struct block block = load_block(data);
        if (block.backslashes || scan->is_escaped)
            block.quotes &= ~escaped_bits(scan, block.backslashes);
        uint64_t inside = sums_of_bits(block.quotes) ^ scan->in_string;
        scan->in_string = (uint64_t)0 - (inside >> 63);
        block.opens &= ~inside;
        block.closes &= ~inside;
        int64_t closes = count_bits(block.closes);
        bool may_end_chunk = at + BLOCK_SIZE > scan->target;
        if (scan->depth < closes || (may_end_chunk && scan->depth == closes)) {
            const char *found = walk_block(scan, &block, at);
            if (found)
                return found;
        }
        scan->depth += count_bits(block.opens) - closes;
    }
    return end;
}

void chrome_cutter_init(struct chrome_cutter *cutter, const struct json_file *file)
{
    struct text text = {file->data, file->size};
    if (text_starts(text, TEXT("\xEF\xBB\xBF")))
        text = (struct text){text.data + 3, text.size - 3};
    size_t share = text.size / TARGET_CHUNKS;
    *cutter = (struct chrome_cutter){.in = json_read(text),
                                     .chunk_size = share < MIN_CHUNK   ? MIN_CHUNK
                                                   : share > MAX_CHUNK ? MAX_CHUNK
                                                                       : share};
}

void chrome_cutter_free(struct chrome_cutter *cutter)
{
    array_free(&cutter->facts);
}

static void begin_events(struct chrome_cutter *cutter)
{
    cutter->in.at++;
    cutter->state = CUT_EVENTS;
    cutter->has_events = cutter->at_first = true;
}

static bool cut_start(struct chrome_cutter *cutter)
{
    char next;
    if (!json_peek(&cutter->in, &next))
        return false;
    if (next == '[') {
        cutter->is_list = true;
        begin_events(cutter);
        return true;
    }
    cutter->state = CUT_FACTS;
    return json_expect(&cutter->in, '{', "expected an object or a list");
}

/* Parses one metadata member, the beginning of a list of events, or the end of the object. */
static bool cut_fact(struct chrome_cutter *cutter)
{
    struct json_reader *in = &cutter->in;
    struct chrome_fact fact;
    char next;
    bool is_over = cutter->after_fact ? !json_more(in, '}') : json_peek(in, &next) && next == '}';
    if (in->problem)
        return false;
    if (is_over) {
        in->at += !cutter->after_fact;
        cutter->state = CUT_END;
        return true;
    }
    cutter->after_fact = true;
    if (!json_read_key(in, &fact.key) || !json_peek(in, &next))
        return false;
    if (next == '[' && text_equal(fact.key.text, TEXT("traceEvents"))) {
        begin_events(cutter);
        return true;
    }
    if (!json_read_value(in, &fact.value))
        return false;
    *array_push(&cutter->facts) = fact;
    return true;
}

static void cut_events(struct chrome_cutter *cutter, struct chrome_chunk *chunk)
{
    struct json_reader *in = &cutter->in;
    size_t left = (size_t)(in->end - in->at);
    struct scan scan = {.target = in->at + (left < cutter->chunk_size ? left : cutter->chunk_size)};
    const char *start = in->at;
    in->at = find_end(&scan, start, in->end);
    *chunk = (struct chrome_chunk){.data = start,
                                   .size = (size_t)(in->at - start),
                                   .is_first = cutter->at_first,
                                   .is_cut = in->at == in->end};
    cutter->at_first = false;
    if (scan.at_list_end) {
        in->at++;
        cutter->state = cutter->is_list ? CUT_END : CUT_FACTS;
    } else if (chunk->is_cut) {
        cutter->is_cut_off |= !cutter->is_list; /* a bare list may lack its closing bracket */
        cutter->state = CUT_END;
    }
}

bool chrome_cut(struct chrome_cutter *cutter, struct chrome_chunk *chunk)
{
    struct json_reader *in = &cutter->in;
    bool ok = !in->problem;
    while (ok && cutter->state != CUT_END) {
        if (cutter->state == CUT_EVENTS) {
            cut_events(cutter, chunk);
            return true;
        }
        ok = cutter->state == CUT_START ? cut_start(cutter) : cut_fact(cutter);
    }
    if (in->problem == JSON_CUT_OFF && cutter->has_events) {
        *in = (struct json_reader){.at = in->end, .end = in->end};
        cutter->is_cut_off = true;
        cutter->state = CUT_END;
    }
    json_skip_space(in);
    if (!in->problem && in->at < in->end)
        json_fail(in, "unexpected data after the end");
    return false;
}
