/*
 * The JSON writer: output is always valid JSON, reads back as written, and is laid out as
 * documented.
 */
#include "base/wire/json.h"

#include "support.h"

#include <float.h>
#include <math.h>

struct page {
    struct output out;
    struct json json;
};

static struct json *page_begin(struct page *page, bool pretty)
{
    output_memory(&page->out);
    json_begin(&page->json, &page->out, pretty);
    return &page->json;
}

static const char *page_text(struct page *page)
{
    output_char(&page->out, '\0');
    page->out.size--;
    return page->out.data;
}

static void assert_page(struct page *page, const char *expected)
{
    assert_string_equal(page_text(page), expected);
    assert_int_equal(page->out.size, strlen(expected));
    output_discard(&page->out);
}

TEST(empty_brackets_stay_closed_up)
{
    struct page page;
    struct json *json = page_begin(&page, false);
    json_open(json, '{');
    json_close(json, '}');
    assert_page(&page, "{}\n");
    json = page_begin(&page, true);
    json_open(json, '[');
    json_open(json, '{');
    json_close(json, '}');
    json_open_row(json, '[');
    json_close_row(json, ']');
    json_close(json, ']');
    assert_page(&page, "[\n  {},\n  []\n]\n");
}

static void write_example(struct json *json)
{
    json_open(json, '{');
    json_put_text(json, "name", TEXT("step"));
    json_put_int(json, "low", -1);
    json_put_uint(json, "high", 1);
    json_put_double(json, "half", 0.5);
    json_key_text(json, TEXT("list"));
    json_open(json, '[');
    json_bool(json, true);
    json_bool(json, false);
    json_null(json);
    json_close(json, ']');
    json_close(json, '}');
}

TEST(compact_documents_are_one_line_without_spaces)
{
    struct page page;
    write_example(page_begin(&page, false));
    assert_page(&page, "{\"name\":\"step\",\"low\":-1,\"high\":1,\"half\":0.5,"
                       "\"list\":[true,false,null]}\n");
}

TEST(pretty_documents_are_indented_and_end_their_last_line)
{
    struct page page;
    write_example(page_begin(&page, true));
    assert_page(&page, "{\n"
                       "  \"name\": \"step\",\n"
                       "  \"low\": -1,\n"
                       "  \"high\": 1,\n"
                       "  \"half\": 0.5,\n"
                       "  \"list\": [\n"
                       "    true,\n"
                       "    false,\n"
                       "    null\n"
                       "  ]\n"
                       "}\n");
}

static void write_rows(struct json *json)
{
    json_open(json, '{');
    json_key(json, "rows");
    json_open(json, '[');
    for (int i = 0; i < 2; i++) {
        json_open_row(json, '{');
        json_put_int(json, "a", i);
        json_key(json, "b");
        json_open(json, '[');
        json_int(json, 1);
        json_open_row(json, '[');
        json_int(json, 2);
        json_close_row(json, ']');
        json_open(json, '{');
        json_close(json, '}');
        json_close(json, ']');
        json_close_row(json, '}');
    }
    json_close(json, ']');
    json_put_int(json, "after", 3);
    json_close(json, '}');
}

TEST(a_row_stays_on_one_line_and_what_follows_does_not)
{
    struct page page;
    write_rows(page_begin(&page, true));
    assert_page(&page, "{\n"
                       "  \"rows\": [\n"
                       "    {\"a\": 0,\"b\": [1,[2],{}]},\n"
                       "    {\"a\": 1,\"b\": [1,[2],{}]}\n"
                       "  ],\n"
                       "  \"after\": 3\n"
                       "}\n");
    write_rows(page_begin(&page, false));
    assert_page(&page, "{\"rows\":[{\"a\":0,\"b\":[1,[2],{}]},{\"a\":1,\"b\":[1,[2],{}]}],"
                       "\"after\":3}\n");
}

TEST(documents_nest_as_deep_as_promised)
{
    struct page page;
    struct json *json = page_begin(&page, false);
    char expected[2 * JSON_MAX_DEPTH + 2] = "";
    for (size_t i = 0; i < JSON_MAX_DEPTH; i++) {
        json_open(json, '[');
        expected[i] = '[';
        expected[JSON_MAX_DEPTH + i] = ']';
    }
    for (size_t i = 0; i < JSON_MAX_DEPTH; i++)
        json_close(json, ']');
    expected[sizeof expected - 2] = '\n';
    assert_page(&page, expected);
}

/* A text as a document. */
static void assert_quoted(struct text text, const char *expected)
{
    struct page page;
    char *data = exact_copy(text.data, text.size);
    json_text(page_begin(&page, false), (struct text){data, text.size});
    free(data);
    assert_page(&page, expected);
}

TEST(every_control_character_is_escaped)
{
    for (unsigned char c = 0; c < 0x20; c++) {
        char expected[16];
        snprintf(expected, sizeof expected, "\"<\\u%04x>\"", c);
        if (c == '\n' || c == '\t' || c == '\r')
            snprintf(expected, sizeof expected, "\"<\\%c>\"",
                     c == '\n'   ? 'n'
                     : c == '\t' ? 't'
                                 : 'r');
        char text[] = {'<', (char)c, '>'};
        assert_quoted((struct text){text, sizeof text}, expected);
    }
}

TEST(quotes_and_backslashes_are_escaped_and_nothing_else_is)
{
    assert_quoted(TEXT("\""), "\"\\\"\"");
    assert_quoted(TEXT("\\"), "\"\\\\\"");
    assert_quoted(TEXT("a\\\"b"), "\"a\\\\\\\"b\"");
    assert_quoted(TEXT("/'<>&\x7F"), "\"/'<>&\x7F\"");
    assert_quoted(TEXT(""), "\"\"");
}

TEST(well_formed_utf8_is_kept)
{
    assert_quoted(TEXT("\xC2\x80 \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF"),
                  "\"\xC2\x80 \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF\"");
}

#define FFFD "\xEF\xBF\xBD"

TEST(malformed_utf8_is_replaced_byte_by_byte)
{
    assert_quoted(TEXT("\x80"), "\"" FFFD "\"");
    assert_quoted(TEXT("a\xFFz"), "\"a" FFFD "z\"");
    assert_quoted(TEXT("\xC0\xAF"), "\"" FFFD FFFD "\"");
    assert_quoted(TEXT("\xE2\x82"), "\"" FFFD FFFD "\"");
    assert_quoted(TEXT("\xE2\x82x"), "\"" FFFD FFFD "x\"");
    assert_quoted(TEXT("\xED\xA0\x80"), "\"" FFFD FFFD FFFD "\"");
    assert_quoted(TEXT("\xF4\x90\x80\x80"), "\"" FFFD FFFD FFFD FFFD "\"");
    assert_quoted(TEXT("\xC3\"\xA9"), "\"" FFFD "\\\"" FFFD "\"");
}

/* An empty text may have NULL data; clang's sanitizer rejects arithmetic on it. */
TEST(an_empty_text_may_come_from_nowhere)
{
    struct page page;
    json_text(page_begin(&page, false), (struct text){NULL, 0});
    assert_page(&page, "\"\"");
}

TEST(keys_are_quoted_like_texts)
{
    struct page page;
    struct json *json = page_begin(&page, false);
    json_open(json, '{');
    json_key(json, "a\"b\n");
    json_null(json);
    json_key_text(json, TEXT("\0\xFF"));
    json_null(json);
    json_close(json, '}');
    assert_page(&page, "{\"a\\\"b\\n\":null,\"\\u0000" FFFD "\":null}\n");
}

/* Decodes a quoted text; false if it is not one. */
static bool unquote(const char *quoted, size_t size, char *text, size_t *text_size)
{
    *text_size = 0;
    if (size < 2 || quoted[0] != '"' || quoted[size - 1] != '"')
        return false;
    for (size_t i = 1; i < size - 1;) {
        unsigned char c = (unsigned char)quoted[i];
        if (c < 0x20 || c == '"')
            return false;
        if (c != '\\') {
            size_t length = text_utf8_length(quoted + i, size - 1 - i);
            if (length == 0)
                return false;
            memcpy(text + *text_size, quoted + i, length);
            *text_size += length;
            i += length;
            continue;
        }
        static const char escapes[] = "\"\\ntr", meanings[] = "\"\\\n\t\r";
        const char *escape = strchr(escapes, quoted[i + 1]);
        if (quoted[i + 1] == 'u') {
            char digits[5] = {0};
            memcpy(digits, quoted + i + 2, 4);
            text[(*text_size)++] = (char)strtol(digits, NULL, 16);
            i += 6;
        } else if (escape && *escape) {
            text[(*text_size)++] = meanings[escape - escapes];
            i += 2;
        } else {
            return false;
        }
    }
    return true;
}

TEST(any_bytes_make_a_text_that_reads_back)
{
    struct rng rng = {29};
    for (unsigned round = 0; round < 50000; round++) {
        char data[40], expected[3 * 40], got[6 * 40];
        size_t size = rng_below(&rng, sizeof data), expected_size = 0, got_size;
        for (size_t i = 0; i < size; i++) {
            static const unsigned char often[] = {0xE2, 0x82, 0xAC, 0xF0, 0x9F,
                                                  0x98, 0x80, '"',  '\\', 0};
            data[i] =
                (char)(rng_below(&rng, 2) ? often[rng_below(&rng, sizeof often)] : rng_u64(&rng));
        }
        for (size_t i = 0; i < size;) {
            size_t length = text_utf8_length(data + i, size - i);
            memcpy(expected + expected_size, length ? data + i : FFFD, length ? length : 3);
            expected_size += length ? length : 3;
            i += length ? length : 1;
        }
        struct page page;
        char *block = exact_copy(data, size);
        json_text(page_begin(&page, false), (struct text){block, size});
        assert_true(unquote(page.out.data, page.out.size, got, &got_size));
        assert_int_equal(got_size, expected_size);
        assert_memory_equal(got, expected, got_size);
        output_discard(&page.out);
        free(block);
    }
}

static void assert_int_written(int64_t value, const char *expected)
{
    struct page page;
    json_int(page_begin(&page, false), value);
    assert_page(&page, expected);
}

static void assert_uint_written(uint64_t value, const char *expected)
{
    struct page page;
    json_uint(page_begin(&page, false), value);
    assert_page(&page, expected);
}

TEST(the_ends_of_the_integers_are_written_in_full)
{
    assert_int_written(0, "0");
    assert_int_written(-1, "-1");
    assert_int_written(INT64_MAX, "9223372036854775807");
    assert_int_written(INT64_MIN, "-9223372036854775808");
    assert_uint_written(0, "0");
    assert_uint_written(10, "10");
    assert_uint_written(UINT64_MAX, "18446744073709551615");
}

TEST(integers_of_every_size_are_written_like_printf)
{
    struct rng rng = {30};
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t value = rng_any_width(&rng);
        char expected[32];
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)value);
        assert_uint_written(value, expected);
        snprintf(expected, sizeof expected, "%lld", (long long)value);
        assert_int_written((int64_t)value, expected);
    }
}

TEST(negative_numbers_are_separated_like_any_other)
{
    struct page page;
    struct json *json = page_begin(&page, false);
    json_open(json, '[');
    json_int(json, -1);
    json_int(json, -2);
    json_uint(json, 3);
    json_open(json, '{');
    json_put_int(json, "a", -4);
    json_put_int(json, "b", -5);
    json_close(json, '}');
    json_close(json, ']');
    assert_page(&page, "[-1,-2,3,{\"a\":-4,\"b\":-5}]\n");
}

static void assert_double_written(double value, const char *expected)
{
    struct page page;
    json_double(page_begin(&page, false), value);
    assert_page(&page, expected);
}

TEST(doubles_are_written_as_people_write_them)
{
    assert_double_written(0.0, "0.0");
    assert_double_written(-0.0, "-0.0");
    assert_double_written(1.0, "1.0");
    assert_double_written(-1.5, "-1.5");
    assert_double_written(0.1, "0.1");
    assert_double_written(0.1 + 0.2, "0.30000000000000004");
    assert_double_written(123456789012345.0, "123456789012345.0");
    assert_double_written(1.0 / 3, "0.3333333333333333");
    assert_double_written(1e300, "1e+300");
    assert_double_written(DBL_MAX, "1.7976931348623157e+308");
    assert_double_written(DBL_MIN, "2.2250738585072014e-308");
}

TEST(the_smallest_doubles_are_short_too)
{
    assert_double_written(5e-324, "5e-324");
    assert_double_written(-1e-320, "-1e-320");
    assert_double_written(1.5e-310, "1.5e-310");
}

TEST(what_is_not_a_number_is_a_text)
{
    assert_double_written((double)NAN, "\"NaN\"");
    assert_double_written(-(double)NAN, "\"NaN\"");
    assert_double_written((double)INFINITY, "\"Infinity\"");
    assert_double_written(-(double)INFINITY, "\"-Infinity\"");
}

/* number = [ minus ] int [ frac ] [ exp ], RFC 8259. */
static bool is_json_number(const char *at)
{
    at += *at == '-';
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || (digits > 1 && *at == '0'))
        return false;
    at += digits;
    if (*at == '.') {
        digits = strspn(++at, "0123456789");
        if (digits == 0)
            return false;
        at += digits;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        digits = strspn(at, "0123456789");
        if (digits == 0)
            return false;
        at += digits;
    }
    return *at == '\0';
}

TEST(doubles_read_back_as_the_same_number)
{
    struct rng rng = {31};
    for (unsigned round = 0; round < 60000; round++) {
        uint64_t bits = rng_u64(&rng);
        double value;
        if (round % 3 == 0)
            value = (double)rng_any_width(&rng) / 1000;
        else if (round % 3 == 1)
            value = ldexp((double)bits, -64);
        else
            memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        struct page page;
        json_double(page_begin(&page, false), value);
        const char *text = page_text(&page);
        double back = strtod(text, NULL);
        assert_memory_equal(&back, &value, sizeof value);
        assert_true(is_json_number(text));
        output_discard(&page.out);
    }
}

static void assert_base64(const char *data, size_t size, const char *expected)
{
    struct page page;
    uint8_t *block = exact_copy(data, size);
    json_base64(page_begin(&page, false), block, size);
    free(block);
    assert_page(&page, expected);
}

TEST(base64_is_that_of_the_standard)
{
    assert_base64("", 0, "\"\""); /* the vectors of RFC 4648 */
    assert_base64("f", 1, "\"Zg==\"");
    assert_base64("fo", 2, "\"Zm8=\"");
    assert_base64("foo", 3, "\"Zm9v\"");
    assert_base64("foob", 4, "\"Zm9vYg==\"");
    assert_base64("fooba", 5, "\"Zm9vYmE=\"");
    assert_base64("foobar", 6, "\"Zm9vYmFy\"");
    assert_base64("\xFB\xEF\xBE\xFF\xFF\xFF", 6, "\"++++////\"");
    assert_base64("\0\0\0", 3, "\"AAAA\"");
}

TEST(base64_decodes_to_what_it_was)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct rng rng = {32};
    for (size_t size = 0; size < 200; size++) {
        uint8_t data[200], decoded[201];
        rng_fill(&rng, data, size);
        struct page page;
        json_base64(page_begin(&page, false), data, size);
        assert_int_equal(page.out.size, 2 + (size + 2) / 3 * 4);
        size_t count = 0;
        uint32_t group = 0;
        for (size_t i = 1; i + 1 < page.out.size && page.out.data[i] != '='; i++) {
            const char *digit = strchr(digits, page.out.data[i]);
            assert_non_null(digit);
            group = group << 6 | (uint32_t)(digit - digits);
            if (i % 4 != 1)
                decoded[count++] = (uint8_t)(group >> (6 - 2 * ((i - 1) % 4)));
        }
        assert_int_equal(count, size);
        if (size > 0)
            assert_memory_equal(decoded, data, size);
        output_discard(&page.out);
    }
}

TEST(spliced_items_get_commas_where_they_belong)
{
    struct page page;
    struct json *json = page_begin(&page, false);
    json_open(json, '[');
    json_splice(json, "", 0);
    json_splice(json, "1,2", 3);
    json_splice(json, "", 0);
    json_int(json, 3);
    json_splice(json, "4", 1);
    json_close(json, ']');
    assert_page(&page, "[1,2,3,4]\n");
}

/* Random documents: a grammar checker, and both layouts compared with each other. */
struct checker {
    const char *at;
};

static bool skip_space(struct checker *in, char wanted)
{
    in->at += strspn(in->at, " \n");
    bool there = *in->at == wanted;
    in->at += there;
    return there;
}

static bool check_text(struct checker *in)
{
    if (*in->at++ != '"')
        return false;
    for (; *in->at != '"'; in->at++)
        if (*in->at == '\0' || (*in->at == '\\' && *++in->at == '\0'))
            return false;
    in->at++;
    return true;
}

static bool check_value(struct checker *in)
{
    if (skip_space(in, '[') || skip_space(in, '{')) {
        bool object = in->at[-1] == '{';
        char closing = object ? '}' : ']';
        if (skip_space(in, closing))
            return true;
        do {
            if (object) {
                in->at += strspn(in->at, " \n");
                if (!check_text(in) || *in->at++ != ':')
                    return false;
            }
            if (!check_value(in))
                return false;
        } while (skip_space(in, ','));
        return skip_space(in, closing);
    }
    if (*in->at == '"')
        return check_text(in);
    size_t size = strspn(in->at, "-+.0123456789eEtrufalsn");
    char word[64];
    if (size == 0 || size >= sizeof word)
        return false;
    memcpy(word, in->at, size);
    word[size] = '\0';
    in->at += size;
    return is_json_number(word) || strcmp(word, "true") == 0 || strcmp(word, "false") == 0 ||
           strcmp(word, "null") == 0;
}

static void write_random_value(struct json *json, struct rng *rng, unsigned depth)
{
    static const char *const texts[] = {"", "a b", "{\"x\": [1,\n 2]}", "\\", "\xFF\x01"};
    size_t kind = rng_below(rng, depth < 6 ? 12 : 7);
    if (kind == 0)
        json_text(json, text_of(texts[rng_below(rng, COUNT_OF(texts))]));
    else if (kind == 1)
        json_int(json, (int64_t)rng_any_width(rng));
    else if (kind == 2)
        json_double(json, (double)(int64_t)rng_u64(rng) / 8192);
    else if (kind == 3)
        json_bool(json, rng_below(rng, 2));
    else if (kind == 4)
        json_null(json);
    else if (kind == 5)
        json_base64(json, (const uint8_t *)"bytes", rng_below(rng, 6));
    else if (kind == 6)
        json_double(json, (double)NAN);
    if (kind < 7)
        return;
    bool row = rng_below(rng, 3) == 0, object = rng_below(rng, 2);
    (row ? json_open_row : json_open)(json, object ? '{' : '[');
    for (size_t i = rng_below(rng, 5); i > 0; i--) {
        if (object)
            json_key(json, texts[rng_below(rng, COUNT_OF(texts))]);
        write_random_value(json, rng, depth + 1);
    }
    (row ? json_close_row : json_close)(json, object ? '}' : ']');
}

static void remove_space_outside_texts(char *text)
{
    char *to = text;
    for (bool inside = false; *text; text++) {
        if (*text == '"')
            inside = !inside;
        if (inside && *text == '\\')
            *to++ = *text++;
        if (inside || (*text != ' ' && *text != '\n'))
            *to++ = *text;
    }
    *to = '\0';
}

static void assert_only_a_line_end(const char *rest)
{
    assert_true(strcmp(rest, "") == 0 || strcmp(rest, "\n") == 0);
}

TEST(random_documents_are_json_and_the_same_pretty_or_not)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct rng one = {seed}, two = {seed};
        struct page compact, pretty;
        write_random_value(page_begin(&compact, false), &one, 0);
        write_random_value(page_begin(&pretty, true), &two, 0);
        struct checker in = {page_text(&compact)};
        assert_true(check_value(&in));
        assert_only_a_line_end(in.at);
        in = (struct checker){page_text(&pretty)};
        assert_true(check_value(&in));
        assert_only_a_line_end(in.at);
        char *stripped = strdup(page_text(&pretty));
        remove_space_outside_texts(stripped);
        compact.out.size -= page_text(&compact)[compact.out.size - 1] == '\n';
        assert_string_equal(stripped, page_text(&compact));
        free(stripped);
        output_discard(&compact.out);
        output_discard(&pretty.out);
    }
}

static void begin_list(struct json *json, bool row)
{
    json_open(json, '{');
    json_key(json, "list");
    (row ? json_open_row : json_open)(json, '[');
}

static void end_list(struct json *json, bool row)
{
    (row ? json_close_row : json_close)(json, ']');
    json_put_int(json, "after", 1);
    json_close(json, '}');
}

TEST(lists_made_in_forks_are_as_if_written_here)
{
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct rng cuts = {~seed}, one = {seed}, two = {seed};
        bool pretty = seed & 1, row = seed & 2;
        struct page whole, forked;
        begin_list(page_begin(&whole, pretty), row);
        begin_list(page_begin(&forked, pretty), row);
        for (size_t parts = rng_below(&cuts, 5); parts > 0; parts--) {
            struct output part;
            output_memory(&part);
            struct json fork = json_fork(&forked.json, &part);
            for (size_t items = rng_below(&cuts, 3); items > 0; items--) {
                write_random_value(&whole.json, &one, 2);
                write_random_value(&fork, &two, 2);
            }
            json_splice(&forked.json, part.data, part.size);
            output_discard(&part);
        }
        end_list(&whole.json, row);
        end_list(&forked.json, row);
        assert_string_equal(page_text(&forked), page_text(&whole));
        output_discard(&whole.out);
        output_discard(&forked.out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_brackets_stay_closed_up),
        cmocka_unit_test(compact_documents_are_one_line_without_spaces),
        cmocka_unit_test(pretty_documents_are_indented_and_end_their_last_line),
        cmocka_unit_test(a_row_stays_on_one_line_and_what_follows_does_not),
        cmocka_unit_test(documents_nest_as_deep_as_promised),
        cmocka_unit_test(every_control_character_is_escaped),
        cmocka_unit_test(quotes_and_backslashes_are_escaped_and_nothing_else_is),
        cmocka_unit_test(well_formed_utf8_is_kept),
        cmocka_unit_test(malformed_utf8_is_replaced_byte_by_byte),
        cmocka_unit_test(an_empty_text_may_come_from_nowhere),
        cmocka_unit_test(keys_are_quoted_like_texts),
        cmocka_unit_test(any_bytes_make_a_text_that_reads_back),
        cmocka_unit_test(the_ends_of_the_integers_are_written_in_full),
        cmocka_unit_test(integers_of_every_size_are_written_like_printf),
        cmocka_unit_test(negative_numbers_are_separated_like_any_other),
        cmocka_unit_test(doubles_are_written_as_people_write_them),
        cmocka_unit_test(the_smallest_doubles_are_short_too),
        cmocka_unit_test(what_is_not_a_number_is_a_text),
        cmocka_unit_test(doubles_read_back_as_the_same_number),
        cmocka_unit_test(base64_is_that_of_the_standard),
        cmocka_unit_test(base64_decodes_to_what_it_was),
        cmocka_unit_test(spliced_items_get_commas_where_they_belong),
        cmocka_unit_test(lists_made_in_forks_are_as_if_written_here),
        cmocka_unit_test(random_documents_are_json_and_the_same_pretty_or_not),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
