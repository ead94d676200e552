/*
 * Kinds of kernels: names of real captures and known libraries, classified by hand, and a plain
 * matcher that tries every pattern in turn.
 */
#include "model/model.h"
#include "support.h"

static const char *tensor_cores_word(struct kernel_kind kind)
{
    static const char *const words[] = {
        [TENSOR_CORES_UNKNOWN] = "unknown", [TENSOR_CORES_NO] = "no", [TENSOR_CORES_YES] = "yes"};
    return words[kind.tensor_cores];
}

/* kernel_families.tsv: name, family, tensor cores; the first line is the heading. */
TEST(names_are_of_the_families_that_were_chosen_by_hand)
{
    FILE *file = fopen(KYMO_TEST_DATA "/kernel_families.tsv", "r");
    char *line = NULL;
    size_t room = 0, rows = 0, wrong = 0;
    assert_non_null(file);
    assert_true(getline(&line, &room, file) > 0);
    while (getline(&line, &room, file) > 0) {
        char *rest = line;
        const char *name = strsep(&rest, "\t"), *family = strsep(&rest, "\t");
        const char *tensor_cores = strsep(&rest, "\n");
        assert_non_null(tensor_cores);
        struct kernel_kind kind = kernel_kind_of(text_of(name));
        struct text found = kernel_family_name((enum kernel_family)kind.family);
        rows++;
        if (!text_equal(found, text_of(family)) ||
            strcmp(tensor_cores_word(kind), tensor_cores) != 0) {
            print_error("%s is %s %s, taken for %s %s\n", name, family, tensor_cores, found.data,
                        tensor_cores_word(kind));
            wrong++;
        }
    }
    free(line);
    fclose(file);
    assert_true(rows > 200);
    assert_int_equal(wrong, 0);
}

static const struct plain_pattern {
    const char *text;
    struct kernel_kind kind;
} all_patterns[] = {
#define KERNELS(text, family, tensor_cores, maker)                                                 \
    {text, {FAMILY_##family, TENSOR_CORES_##tensor_cores, MADE_BY_##maker}},
#include "model/kernel_names.def"
};

static bool plainly_matches(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return plainly_matches(pattern + 1, name) || (*name && plainly_matches(pattern, name + 1));
    char c = *name >= 'A' && *name <= 'Z' ? (char)(*name + 'a' - 'A') : *name;
    return *pattern ? *pattern == c && plainly_matches(pattern + 1, name + 1) : !*name;
}

/* Parts of patterns, whole or cut, in any order, so that several patterns nearly match. */
static size_t make_name(struct rng *rng, char *name, size_t room)
{
    size_t size = 0;
    for (size_t parts = rng_below(rng, 5); parts > 0; parts--) {
        const char *text = all_patterns[rng_below(rng, COUNT_OF(all_patterns))].text;
        size_t length = strlen(text) - (rng_below(rng, 3) == 0);
        for (size_t i = 0; i < length && size + 1 < room; i++) {
            char c = text[i] == '*' ? "_<x9"[rng_below(rng, 4)] : text[i];
            name[size++] = rng_below(rng, 9) == 0 && c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
        }
    }
    name[size] = '\0';
    return size;
}

TEST(the_first_pattern_that_matches_decides)
{
    struct rng rng = {5};
    for (int round = 0; round < 20000; round++) {
        char name[128];
        size_t size = make_name(&rng, name, sizeof name), i = 0;
        while (i < COUNT_OF(all_patterns) && !plainly_matches(all_patterns[i].text, name))
            i++;
        struct kernel_kind should = {0}, is;
        if (i < COUNT_OF(all_patterns))
            should = all_patterns[i].kind;
        char *exact = exact_copy(name, size);
        is = kernel_kind_of((struct text){exact, size});
        free(exact);
        if (memcmp(&is, &should, sizeof is) != 0)
            fail_msg("%s: family %d, should be %d", name, is.family, should.family);
    }
}

/* Every pattern is the first for some name, or it would be dead. */
TEST(no_pattern_is_hidden_by_those_before_it)
{
    for (size_t i = 0; i < COUNT_OF(all_patterns); i++) {
        char name[128];
        size_t size = 0, first = 0;
        for (const char *c = all_patterns[i].text; *c; c++)
            if (*c != '*')
                name[size++] = *c;
            else if (size > 0 && c[1])
                name[size++] = '#';
        name[size] = '\0';
        while (!plainly_matches(all_patterns[first].text, name))
            first++;
        if (first != i)
            fail_msg("%s is hidden by %s", all_patterns[i].text, all_patterns[first].text);
    }
}

TEST(names_of_any_bytes_and_length_have_a_family)
{
    struct rng rng = {6};
    for (int round = 0; round < 2000; round++) {
        unsigned char bytes[300];
        size_t size = rng_below(&rng, sizeof bytes);
        rng_fill(&rng, bytes, size);
        char *exact = exact_copy(bytes, size);
        assert_true(kernel_kind_of((struct text){exact, size}).family < KERNEL_FAMILIES);
        free(exact);
    }
    size_t size = (size_t)16 << 20;
    char *long_name = malloc(size);
    memset(long_name, 'n', size);
    assert_int_equal(kernel_kind_of((struct text){long_name, size}).family, FAMILY_OTHER);
    free(long_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_of_the_families_that_were_chosen_by_hand),
        cmocka_unit_test(the_first_pattern_that_matches_decides),
        cmocka_unit_test(no_pattern_is_hidden_by_those_before_it),
        cmocka_unit_test(names_of_any_bytes_and_length_have_a_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
