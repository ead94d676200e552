/*
 * Error messages and text functions: UTF-8 compared with a decoder that encodes back what it read,
 * edit distances with their definition.
 */
#include "base/error.h"
#include "base/text.h"

#include "support.h"

TEST(an_error_without_a_file_is_just_its_text)
{
    struct error err;
    char line[ERROR_LINE_SIZE];
    assert_false(error_set(&err, "no %s in %d files", "events", 3));
    assert_string_equal(error_line(&err, line), "no events in 3 files");
    assert_string_equal(err.file, "");
    assert_int_equal(err.offset, ERROR_NO_OFFSET);
}

TEST(an_error_in_a_file_names_the_file_first)
{
    struct error err;
    char line[ERROR_LINE_SIZE];
    assert_false(error_in_file(&err, "a%s.pb", "is %d bytes short", 7));
    assert_ptr_equal(error_line(&err, line), line);
    assert_string_equal(line, "a%s.pb: is 7 bytes short");
}

TEST(an_error_at_a_byte_tells_which)
{
    struct error err;
    char line[ERROR_LINE_SIZE];
    assert_false(error_at(&err, "a.pb", 0, "is damaged"));
    assert_string_equal(error_line(&err, line), "a.pb: is damaged (at byte 0)");
    assert_false(error_at(&err, "a.pb", UINT64_MAX - 1, "is damaged"));
    assert_string_equal(error_line(&err, line), "a.pb: is damaged (at byte 18446744073709551614)");
}

TEST(a_later_error_leaves_nothing_of_an_earlier_one)
{
    struct error err;
    char line[ERROR_LINE_SIZE];
    error_at(&err, "a.pb", 5, "is damaged in a way that takes long to tell");
    error_set(&err, "short");
    assert_string_equal(error_line(&err, line), "short");
}

TEST(the_longest_error_fits_its_line_with_its_offset)
{
    size_t path_size = 100000;
    char *path = malloc(path_size + 1);
    memset(path, 'p', path_size);
    path[path_size] = '\0';
    struct error err;
    error_at(&err, path, UINT64_MAX - 1, "%s", path);
    assert_int_equal(strlen(err.file), ERROR_FILE_SIZE - 1);
    assert_int_equal(strlen(err.text), ERROR_TEXT_SIZE - 1);
    char *line = malloc(ERROR_LINE_SIZE);
    error_line(&err, line);
    const char *tail = " (at byte 18446744073709551614)";
    assert_int_equal(strlen(line), ERROR_FILE_SIZE - 1 + 2 + ERROR_TEXT_SIZE - 1 + strlen(tail));
    assert_string_equal(line + strlen(line) - strlen(tail), tail);
    free(line);
    free(path);
}

TEST(texts_are_equal_when_size_and_bytes_are)
{
    assert_true(text_equal(TEXT("abc"), text_of("abc")));
    assert_false(text_equal(TEXT("abc"), TEXT("abd")));
    assert_false(text_equal(TEXT("abc"), TEXT("ab")));
    assert_false(text_equal(TEXT("a\0b"), TEXT("a\0c")));
    assert_true(text_equal(TEXT(""), (struct text){NULL, 0}));
    assert_true(text_equal((struct text){NULL, 0}, (struct text){NULL, 0}));
    assert_false(text_equal((struct text){NULL, 0}, TEXT("a")));
}

TEST(a_text_starts_and_ends_with_its_parts)
{
    assert_true(text_starts(TEXT("/device:TPU"), TEXT("/device:")));
    assert_true(text_starts(TEXT("abc"), TEXT("abc")));
    assert_true(text_starts(TEXT("abc"), TEXT("")));
    assert_false(text_starts(TEXT("abc"), TEXT("abcd")));
    assert_false(text_starts(TEXT("abc"), TEXT("bc")));
    assert_true(text_ends(TEXT("host.xplane.pb"), TEXT(".pb")));
    assert_true(text_ends(TEXT("abc"), TEXT("abc")));
    assert_true(text_ends(TEXT("abc"), TEXT("")));
    assert_false(text_ends(TEXT("abc"), TEXT("zabc")));
    assert_false(text_ends(TEXT("abc"), TEXT("ab")));
}

/* An empty text may have NULL data; sanitizers reject memcmp on it. */
TEST(a_text_without_data_starts_and_ends_with_nothing)
{
    struct text none = {NULL, 0};
    assert_true(text_starts(none, TEXT("")));
    assert_true(text_starts(TEXT("a"), none));
    assert_true(text_starts(none, none));
    assert_false(text_starts(none, TEXT("a")));
    assert_true(text_ends(none, TEXT("")));
    assert_true(text_ends(TEXT("a"), none));
    assert_true(text_ends(none, none));
    assert_false(text_ends(none, TEXT("a")));
}

/* RFC 3629: the shortest form of a code point up to 10FFFF that is no surrogate. */
static size_t encode(uint32_t point, unsigned char c[4])
{
    if (point < 0x80) {
        c[0] = (unsigned char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, point >>= 6)
        c[i] = (unsigned char)(0x80 | (point & 0x3F));
    c[0] = (unsigned char)(leads[length] | point);
    return length;
}

static size_t reference_length(const unsigned char *c, size_t size)
{
    size_t length = c[0] < 0x80       ? 1
                    : c[0] >> 5 == 6  ? 2
                    : c[0] >> 4 == 14 ? 3
                    : c[0] >> 3 == 30 ? 4
                                      : 0;
    if (length == 0 || length > size)
        return 0;
    uint32_t point = length == 1 ? c[0] : c[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (c[i] >> 6 != 2)
            return 0;
        point = point << 6 | (c[i] & 0x3F);
    }
    unsigned char again[4];
    bool shortest = point <= 0x10FFFF && encode(point, again) == length;
    return shortest && (point < 0xD800 || point > 0xDFFF) ? length : 0;
}

TEST(every_code_point_is_well_formed_but_surrogates)
{
    unsigned wrong = 0;
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        unsigned char c[4];
        size_t length = encode(point, c);
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        wrong += text_utf8_length((char *)c, length) != (surrogate ? 0 : length);
        wrong += length > 1 && text_utf8_length((char *)c, length - 1) != 0;
    }
    assert_int_equal(wrong, 0);
}

TEST(every_three_bytes_are_judged_as_a_decoder_would)
{
    unsigned wrong = 0;
    for (uint32_t bytes = 0; bytes < 1 << 24; bytes++) {
        unsigned char c[3] = {(unsigned char)(bytes >> 16), (unsigned char)(bytes >> 8),
                              (unsigned char)bytes};
        wrong += text_utf8_length((char *)c, 3) != reference_length(c, 3);
    }
    assert_int_equal(wrong, 0);
}

TEST(four_bytes_are_judged_as_a_decoder_would)
{
    static const unsigned char tails[] = {0, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
    unsigned wrong = 0;
    for (unsigned first = 0; first < 1 << 16; first++) {
        for (size_t i = 0; i < COUNT_OF(tails); i++) {
            for (size_t j = 0; j < COUNT_OF(tails); j++) {
                unsigned char c[4] = {(unsigned char)(first >> 8), (unsigned char)first, tails[i],
                                      tails[j]};
                wrong += text_utf8_length((char *)c, 4) != reference_length(c, 4);
            }
        }
    }
    assert_int_equal(wrong, 0);
}

TEST(utf8_is_never_read_past_its_end)
{
    assert_int_equal(text_utf8_length(NULL, 0), 0);
    for (uint32_t point = 0; point <= 0x10FFFF; point += 251) {
        unsigned char c[4];
        size_t length = encode(point, c);
        for (size_t size = 0; size < length; size++) {
            char *cut = exact_copy(c, size);
            assert_int_equal(text_utf8_length(cut, size), 0);
            free(cut);
        }
    }
}

/* The definition: optimal string alignment, by exhaustive search. */
static size_t distance_by_trying(const char *a, size_t a_size, const char *b, size_t b_size)
{
    if (a_size == 0 || b_size == 0)
        return a_size + b_size;
    size_t best = distance_by_trying(a, a_size - 1, b, b_size) + 1;
    size_t other = distance_by_trying(a, a_size, b, b_size - 1) + 1;
    best = other < best ? other : best;
    other = distance_by_trying(a, a_size - 1, b, b_size - 1) + (a[a_size - 1] != b[b_size - 1]);
    best = other < best ? other : best;
    if (a_size > 1 && b_size > 1 && a[a_size - 1] == b[b_size - 2] &&
        a[a_size - 2] == b[b_size - 1]) {
        other = distance_by_trying(a, a_size - 2, b, b_size - 2) + 1;
        best = other < best ? other : best;
    }
    return best;
}

TEST(distances_are_the_fewest_edits)
{
    struct rng rng = {8};
    for (unsigned round = 0; round < 2000; round++) {
        char a[7] = "", b[7] = "";
        size_t a_size = rng_below(&rng, sizeof a), b_size = rng_below(&rng, sizeof b);
        for (size_t i = 0; i < a_size; i++)
            a[i] = (char)('a' + rng_below(&rng, 3));
        for (size_t i = 0; i < b_size; i++)
            b[i] = (char)('a' + rng_below(&rng, 3));
        size_t expected = distance_by_trying(a, a_size, b, b_size);
        assert_int_equal(text_distance(a, b), expected);
        assert_int_equal(text_distance(b, a), expected);
    }
}

TEST(one_edit_of_each_kind_is_a_distance_of_one)
{
    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("capture", "capture"), 0);
    assert_int_equal(text_distance("capture", "captures"), 1);
    assert_int_equal(text_distance("capture", "cpture"), 1);
    assert_int_equal(text_distance("capture", "cupture"), 1);
    assert_int_equal(text_distance("capture", "captrue"), 1);
    assert_int_equal(text_distance("", "abc"), 3);
}

TEST(words_too_long_to_compare_are_infinitely_far)
{
    char longest[64], longer[65];
    memset(longest, 'a', sizeof longest);
    memset(longer, 'a', sizeof longer);
    longest[63] = longer[64] = '\0';
    assert_int_equal(text_distance(longest, longest), 0);
    assert_int_equal(text_distance(longest, "a"), 62);
    assert_int_equal(text_distance(longest, longer), SIZE_MAX);
    assert_int_equal(text_distance(longer, ""), SIZE_MAX);
}

TEST(the_nearest_word_is_the_one_meant)
{
    static const char *const words[] = {"view", "capture", "compare", "show-session"};
    assert_string_equal(text_nearest("captrue", words, COUNT_OF(words)), "capture");
    assert_string_equal(text_nearest("comprae", words, COUNT_OF(words)), "compare");
    assert_string_equal(text_nearest("veiw", words, COUNT_OF(words)), "view");
    assert_string_equal(text_nearest("show_session", words, COUNT_OF(words)), "show-session");
    assert_string_equal(text_nearest("view", words, COUNT_OF(words)), "view");
}

TEST(no_word_is_suggested_when_none_is_near)
{
    static const char *const words[] = {"view", "capture"};
    assert_null(text_nearest("zzzzzz", words, COUNT_OF(words)));
    assert_null(text_nearest("inspect", words, COUNT_OF(words)));
    assert_null(text_nearest("view", words, 0));
    char huge[10001];
    memset(huge, 'v', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(text_nearest(huge, words, COUNT_OF(words)));
}

TEST(of_equally_near_words_the_first_is_suggested)
{
    static const char *const words[] = {"cat", "bat", "rat"};
    assert_string_equal(text_nearest("hat", words, COUNT_OF(words)), "cat");
    assert_string_equal(text_nearest("rat", words, COUNT_OF(words)), "rat");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_without_a_file_is_just_its_text),
        cmocka_unit_test(an_error_in_a_file_names_the_file_first),
        cmocka_unit_test(an_error_at_a_byte_tells_which),
        cmocka_unit_test(a_later_error_leaves_nothing_of_an_earlier_one),
        cmocka_unit_test(the_longest_error_fits_its_line_with_its_offset),
        cmocka_unit_test(texts_are_equal_when_size_and_bytes_are),
        cmocka_unit_test(a_text_starts_and_ends_with_its_parts),
        cmocka_unit_test(a_text_without_data_starts_and_ends_with_nothing),
        cmocka_unit_test(every_code_point_is_well_formed_but_surrogates),
        cmocka_unit_test(every_three_bytes_are_judged_as_a_decoder_would),
        cmocka_unit_test(four_bytes_are_judged_as_a_decoder_would),
        cmocka_unit_test(utf8_is_never_read_past_its_end),
        cmocka_unit_test(distances_are_the_fewest_edits),
        cmocka_unit_test(one_edit_of_each_kind_is_a_distance_of_one),
        cmocka_unit_test(words_too_long_to_compare_are_infinitely_far),
        cmocka_unit_test(the_nearest_word_is_the_one_meant),
        cmocka_unit_test(no_word_is_suggested_when_none_is_near),
        cmocka_unit_test(of_equally_near_words_the_first_is_suggested),
    };
    return cmocka_run_group_tests_name("error and text", tests, NULL, NULL);
}
