/*
 * The JSON reader: all values, where it stops and why, and no reads past the end of the text.
 */
#include "base/wire/json_read.h"

#include "support.h"

#include <float.h>
#include <math.h>

/* A text in a block of exactly its size. */
struct exact {
    char *data;
    struct json_reader in;
};

static struct exact exact(struct text text)
{
    struct exact copy = {.data = exact_copy(text.data, text.size)};
    copy.in = json_read((struct text){copy.data, text.size});
    return copy;
}

/* Reads one value that must be the whole text. */
static struct json_value read_whole(const char *text)
{
    struct json_reader in = json_read(text_of(text));
    struct json_value value;
    assert_true(json_read_value(&in, &value));
    assert_ptr_equal(in.at, in.end);
    return value;
}

static void assert_text(struct text text, const char *expected)
{
    assert_int_equal(text.size, strlen(expected));
    assert_memory_equal(text.data, expected, text.size);
}

TEST(values_are_given_as_they_stand)
{
    static const struct {
        const char *text, *inside;
        enum json_kind kind;
        bool has_escapes;
    } all[] = {
        {"\"\"", "", JSON_STRING, false},
        {"\"plain text, longer than eight\"", "plain text, longer than eight", JSON_STRING, false},
        {"\"a\\\"b\\u00e9\"", "a\\\"b\\u00e9", JSON_STRING, true},
        {"\"tab\tline\n\"", "tab\tline\n", JSON_STRING, false},
        {"0", "0", JSON_NUMBER, false},
        {"-12.50e+3", "-12.50e+3", JSON_NUMBER, false},
        {"NaN", "NaN", JSON_NUMBER, false},
        {"nan", "nan", JSON_NUMBER, false},
        {"-Infinity", "-Infinity", JSON_NUMBER, false},
        {"-inf", "-inf", JSON_NUMBER, false},
        {"true", "true", JSON_TRUE, false},
        {"false", "false", JSON_FALSE, false},
        {"null", "null", JSON_NULL, false},
        {"[]", "[]", JSON_LIST, false},
        {"[ 1 , [ \"]\" , {} ] ]", "[ 1 , [ \"]\" , {} ] ]", JSON_LIST, false},
        {"{\"a\":{\"b\":[1,2]},\"c\":\"}\"}", "{\"a\":{\"b\":[1,2]},\"c\":\"}\"}", JSON_OBJECT,
         false},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct json_value value = read_whole(all[i].text);
        assert_int_equal(value.kind, all[i].kind);
        assert_int_equal(value.has_escapes, all[i].has_escapes);
        assert_text(value.text, all[i].inside);
    }
}

TEST(objects_and_lists_are_walked_member_by_member)
{
    struct json_reader in = json_read(TEXT(" { \"a\" : [ 1 , 22 ,333 ] ,\n\"b\":{} } "));
    struct json_value key, value;
    size_t members = 0, items = 0;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        assert_true(json_read_key(&in, &key));
        assert_text(key.text, members++ ? "b" : "a");
        if (members == 2)
            assert_true(json_read_value(&in, &value));
        for (bool inner = members == 1 && json_enter(&in, '['); inner;
             inner = json_more(&in, ']')) {
            assert_true(json_read_value(&in, &value));
            assert_int_equal(value.text.size, ++items);
        }
    }
    assert_null(in.problem);
    assert_int_equal(members, 2);
    assert_int_equal(items, 3);
    json_skip_space(&in);
    assert_ptr_equal(in.at, in.end);
}

TEST(what_is_wrong_is_told_where_it_is)
{
    static const struct {
        const char *text;
        size_t at;
    } all[] = {
        {"[1,]", 3}, {"[1 2]", 3},     {"{\"a\" 1}", 5},   {"{\"a\":1,}", 7}, {"{1:2}", 1},
        {"[1}", 2},  {"{\"a\":1]", 6}, {"01", 2},          {"1.x", 2},        {"1ex", 2},
        {"-x", 1},   {"\"\\q\"", 1},   {"\"\\u12x4\"", 1}, {"trux", 0},       {"x", 0},
        {"[+1]", 1}, {"[[[}]]]", 3},   {"[1.5.2]", 4},     {"[0x10]", 2},     {"[tru]", 1},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct json_reader in = json_read(text_of(all[i].text));
        struct json_value value;
        assert_false(json_read_value(&in, &value));
        assert_non_null(in.problem);
        assert_ptr_not_equal(in.problem, JSON_CUT_OFF);
        assert_int_equal(in.at - all[i].text, all[i].at);
    }
}

static const char DOCUMENT[] = "{\"a\":[1,-2.5e10,true,false,null,\"text "
                               "\\u00e9\\n\",[],{}],\"bb\":{\"c\":NaN,\"d\":-Infinity}}";

TEST(a_text_that_ends_too_early_is_told_from_a_wrong_one)
{
    struct text whole = text_of(DOCUMENT);
    for (size_t size = 0; size < whole.size; size++) {
        struct exact copy = exact((struct text){whole.data, size});
        struct json_value value;
        assert_false(json_read_value(&copy.in, &value));
        assert_ptr_equal(copy.in.problem, JSON_CUT_OFF);
        free(copy.data);
    }
}

TEST(any_byte_in_any_place_is_read_without_harm)
{
    struct text whole = text_of(DOCUMENT);
    for (size_t at = 0; at < whole.size; at++) {
        for (int byte = 0; byte < 256; byte++) {
            struct exact copy = exact(whole);
            struct json_value value, again;
            copy.data[at] = (char)byte;
            bool ok = json_read_value(&copy.in, &value);
            assert_int_equal(ok, copy.in.problem == NULL);
            struct json_reader in = json_read((struct text){copy.data, whole.size});
            bool ok_again = json_read_validated(&in, &again);
            if (ok) { /* the fast path agrees on everything the strict one accepts */
                assert_true(ok_again);
                assert_ptr_equal(in.at, copy.in.at);
                assert_int_equal(again.text.size, value.text.size);
            }
            free(copy.data);
        }
    }
}

TEST(nesting_has_a_limit)
{
    enum { TOO_DEEP = JSON_MAX_READ_DEPTH + 1 };
    char text[2 * TOO_DEEP + 1];
    for (size_t depth = JSON_MAX_READ_DEPTH; depth <= TOO_DEEP; depth++) {
        memset(text, '[', depth);
        text[depth] = '1';
        memset(text + depth + 1, ']', depth);
        struct json_reader in = json_read((struct text){text, 2 * depth + 1});
        struct json_value value;
        assert_int_equal(json_read_value(&in, &value), depth <= JSON_MAX_READ_DEPTH);
    }
}

/* A number at the end of the text, and the same with much after it, which takes the fast path. */
static struct json_number read_number_twice(const char *text)
{
    char padded[256];
    struct json_number number, other;
    struct exact copy = exact(text_of(text));
    assert_true(json_read_number(&copy.in, &number));
    assert_ptr_equal(copy.in.at, copy.in.end);
    snprintf(padded, sizeof padded, "%s,                                            ", text);
    struct json_reader in = json_read(text_of(padded));
    assert_true(json_read_number(&in, &other));
    assert_int_equal(in.at - padded, strlen(text));
    assert_int_equal(number.digits, other.digits);
    assert_int_equal(number.exponent, other.exponent);
    assert_int_equal(number.is_whole, other.is_whole);
    assert_int_equal(number.is_negative, other.is_negative);
    assert_int_equal(number.is_rounded, other.is_rounded);
    free(copy.data);
    other.text.data = text; /* the padded copy ends here */
    return other;
}

TEST(whole_numbers_are_exact)
{
    struct rng rng = {1};
    for (int i = 0; i < 20000; i++) {
        char text[32];
        uint64_t value = rng_any_width(&rng);
        bool is_negative = rng_below(&rng, 2);
        snprintf(text, sizeof text, "%s%llu", is_negative ? "-" : "", (unsigned long long)value);
        struct json_number number = read_number_twice(text);
        assert_true(number.is_whole);
        assert_false(number.is_rounded);
        assert_int_equal(number.digits, value);
        assert_int_equal(number.is_negative, is_negative);
    }
    assert_true(read_number_twice("18446744073709551616").is_rounded);
    assert_true(read_number_twice("123456789012345678901234567890").is_rounded);
}

TEST(fractions_become_the_nearest_double)
{
    static const char *const hard[] = {
        "0.1",      "1e23",      "9007199254740993",       "2.2250738585072011e-308",
        "5e-324",   "1e-400",    "1.7976931348623157e308", "179769313486231580793e289",
        "-0.0",     "0.3e-1",    "123456789012345678.5",   "0.000000000000000000000000000001",
        "1e22",     "1e-22",     "4.5439999999999996",     "100000000000000000000000000",
        "1.000000", "12345.678", "0.00012345678901234567", "3.14159265358979323846264338327950288"};
    for (size_t i = 0; i < COUNT_OF(hard); i++) {
        struct json_number number = read_number_twice(hard[i]);
        assert_true(json_number_double(&number) == strtod(hard[i], NULL));
    }
    struct rng rng = {2};
    for (int i = 0; i < 20000; i++) {
        char text[64];
        uint64_t bits = rng_u64(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%.*g", (int)(1 + rng_below(&rng, 17)), value);
        char *plus = strchr(text, '+');
        if (plus && rng_below(&rng, 2))
            memmove(plus, plus + 1, strlen(plus));
        struct json_number number = read_number_twice(text);
        assert_true(json_number_double(&number) == strtod(text, NULL));
    }
}

TEST(digits_and_exponent_are_what_is_written)
{
    static const struct {
        const char *text;
        uint64_t digits;
        int32_t exponent;
    } all[] = {
        {"1.25", 125, -2},
        {"3844027233438.733", 3844027233438733, -3},
        {"1661938466265032.123", 1661938466265032123, -3},
        {"10e5", 10, 5},
        {"0.001", 1, -3},
        {"12345678.12345678", 1234567812345678, -8},
        {"1234567812345678.5", 12345678123456785, -1},
        {"1.5E-3", 15, -4},
        {"7e999999999999", 7, 100000},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct json_number number = read_number_twice(all[i].text);
        assert_int_equal(number.digits, all[i].digits);
        assert_int_equal(number.exponent, all[i].exponent);
    }
}

TEST(words_for_numbers_are_numbers)
{
    struct json_number number = read_number_twice("NaN");
    assert_true(number.is_nonfinite && isnan(json_number_double(&number)));
    number = read_number_twice("-Infinity");
    assert_true(json_number_double(&number) == -INFINITY);
    number = read_number_twice("inf");
    assert_true(json_number_double(&number) == INFINITY);
}

static void assert_unescaped(const char *raw, const char *expected, size_t size)
{
    char *buffer = malloc(strlen(raw) + 1);
    size_t got = json_unescape(text_of(raw), buffer);
    assert_int_equal(got, size);
    assert_memory_equal(buffer, expected, size);
    free(buffer);
}

TEST(escapes_are_resolved)
{
    assert_unescaped("plain", "plain", 5);
    assert_unescaped("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 8);
    assert_unescaped("\\u0041\\u00e9\\u20AC\\u0000", "A\xC3\xA9\xE2\x82\xAC\0", 7);
    assert_unescaped("\\ud83d\\ude00", "\xF0\x9F\x98\x80", 4);
    assert_unescaped("\\ud83d!", UTF8_REPLACEMENT "!", 4);
    assert_unescaped("\\ude00\\ud83d", UTF8_REPLACEMENT UTF8_REPLACEMENT, 6);
    assert_unescaped("\\ud83d\\u0041", UTF8_REPLACEMENT "A", 4);
}

static void assert_copied(const char *value, const char *expected)
{
    struct output out;
    struct json json;
    output_memory(&out);
    json_begin(&json, &out, false);
    json_open(&json, '[');
    json_int(&json, 1);
    json_copy(&json, text_of(value));
    json_int(&json, 2);
    json_close(&json, ']');
    output_char(&out, '\0');
    char wanted[512];
    snprintf(wanted, sizeof wanted, "[1,%s,2]\n", expected);
    assert_string_equal(out.data, wanted);
    output_discard(&out);
}

TEST(values_are_written_back_as_one_clean_line)
{
    assert_copied("{ \"a\" :\n[ 1 , 2.50 ,\ttrue ] }", "{\"a\":[1,2.50,true]}");
    assert_copied("\"a\\u00e9\\\"\"", "\"a\\u00e9\\\"\"");
    assert_copied("[\"\xFF\xC3\xA9\"]", "[\"" UTF8_REPLACEMENT "\xC3\xA9\"]");
    assert_copied("[\"a\nb\x01\"]", "[\"a\\u000ab\\u0001\"]");
    assert_copied("[\"\\ud83d\\ude00\\ud83d\"]", "[\"\\ud83d\\ude00\\ufffd\"]");
    assert_copied("[NaN,-inf,Infinity]", "[\"NaN\",\"-Infinity\",\"Infinity\"]");
    assert_copied("123456789012345678901234567890", "123456789012345678901234567890");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_given_as_they_stand),
        cmocka_unit_test(objects_and_lists_are_walked_member_by_member),
        cmocka_unit_test(what_is_wrong_is_told_where_it_is),
        cmocka_unit_test(a_text_that_ends_too_early_is_told_from_a_wrong_one),
        cmocka_unit_test(any_byte_in_any_place_is_read_without_harm),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(whole_numbers_are_exact),
        cmocka_unit_test(fractions_become_the_nearest_double),
        cmocka_unit_test(digits_and_exponent_are_what_is_written),
        cmocka_unit_test(words_for_numbers_are_numbers),
        cmocka_unit_test(escapes_are_resolved),
        cmocka_unit_test(values_are_written_back_as_one_clean_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
