/*
 * Line protocol: names and texts are escaped so that the server reads back the same, numbers are
 * formatted by type.
 */
#include "base/wire/wire.h"

#include "support.h"

#include <float.h>
#include <math.h>

static void assert_output(struct output *out, const char *expected)
{
    output_char(out, '\0');
    assert_string_equal(out->data, expected);
    assert_int_equal(out->size - 1, strlen(expected));
    output_discard(out);
}

static void assert_tag(struct text value, const char *expected)
{
    struct output out;
    output_memory(&out);
    series_tag(&out, "t", value);
    assert_output(&out, expected);
}

static void assert_text(struct text value, const char *expected)
{
    struct output out;
    output_memory(&out);
    struct point point;
    point_begin(&point, &out);
    point_text(&point, value);
    assert_output(&out, expected);
}

TEST(a_point_is_a_line)
{
    struct output out;
    struct point point;
    output_memory(&out);
    series_begin(&out, "trace_events");
    series_tag(&out, "group", TEXT("gpu_hw-nc-000"));
    series_tag_uint(&out, "track", 7);
    point_begin(&point, &out);
    point_put_int(&point, "id", 12);
    point_put_text(&point, "name", TEXT("add"));
    point_key(&point, "float.", TEXT("share"));
    point_double(&point, 0.5);
    point_key(&point, "null.", TEXT("x"));
    point_bool(&point, true);
    point_end(&point, 1700000000000000000);
    assert_output(&out, "trace_events,group=gpu_hw-nc-000,track=7 "
                        "id=12i,name=\"add\",float.share=0.5,null.x=true 1700000000000000000\n");
}

TEST(what_takes_a_line_apart_is_escaped_in_tags)
{
    assert_tag(TEXT("a b,c=d"), ",t=a\\ b\\,c\\=d");
    assert_tag(TEXT("\"quoted\""), ",t=\"quoted\"");
}

TEST(a_tag_without_a_value_is_left_out)
{
    assert_tag((struct text){NULL, 0}, "");
}

TEST(backslashes_stay_but_for_those_that_would_escape_what_follows)
{
    assert_tag(TEXT("C:\\dir"), ",t=C:\\dir");
    assert_tag(TEXT("a\\,b"), ",t=a\xEF\xBC\xBC\\,b");
    assert_tag(TEXT("a\\\\ b\\=c"), ",t=a\\\xEF\xBC\xBC\\ b\xEF\xBC\xBC\\=c");
    assert_tag(TEXT("\\\""), ",t=\xEF\xBC\xBC\"");
    assert_tag(TEXT("C:\\"), ",t=C:\xEF\xBC\xBC");
    assert_tag(TEXT("\\\\"), ",t=\\\xEF\xBC\xBC");
}

TEST(what_a_name_cannot_hold_becomes_a_question_mark)
{
    assert_tag(TEXT("a\nb\tc\x01\x7F"), ",t=a?b?c??");
    assert_tag(TEXT("\xFF\xC3"), ",t=??");
    assert_tag(TEXT("a\xC2\xA0z"), ",t=a?z"); /* no-break space */
    assert_tag(TEXT("\xEF\xBF\xBD"), ",t=?"); /* U+FFFD itself */
    assert_tag((struct text){"a\0b", 3}, ",t=a?b");
}

TEST(names_of_all_scripts_stay)
{
    assert_tag(TEXT("\xC3\xA9\xE2\x88\x87\xF0\x9F\x98\x80"),
               ",t=\xC3\xA9\xE2\x88\x87\xF0\x9F\x98\x80");
}

TEST(long_names_are_cut_between_characters)
{
    char name[SERIES_MAX_TAG + 8];
    struct output out;
    memset(name, 'x', sizeof name);
    memcpy(name + SERIES_MAX_TAG - 1, "\xC3\xA9", 2);
    output_memory(&out);
    series_tag(&out, "t", (struct text){name, sizeof name});
    assert_int_equal(out.size, strlen(",t=") + SERIES_MAX_TAG - 1);
    assert_int_equal(out.data[out.size - 1], 'x');
    output_discard(&out);
}

TEST(field_keys_are_escaped_like_tags_and_have_a_prefix)
{
    struct output out;
    struct point point;
    output_memory(&out);
    point_begin(&point, &out);
    point_key(&point, "int.", TEXT("a b=c,\n\\"));
    point_int(&point, 1);
    assert_output(&out, " int.a\\ b\\=c\\,?\xEF\xBC\xBC=1i");
}

TEST(texts_escape_quotes_and_backslashes_only)
{
    assert_text(TEXT("say \"hi\" \\ a,b=c\nd\t"), "\"say \\\"hi\\\" \\\\ a,b=c\nd\t\"");
    assert_text(TEXT(""), "\"\"");
    assert_text((struct text){NULL, 0}, "\"\"");
}

TEST(bytes_that_are_not_utf8_are_replaced_in_texts)
{
    assert_text(TEXT("a\xFFz\xC3\xA9\xE2\x88"),
                "\"a" UTF8_REPLACEMENT "z\xC3\xA9" UTF8_REPLACEMENT UTF8_REPLACEMENT "\"");
}

/* Unescapes as the server does. */
TEST(any_text_reads_back)
{
    struct rng rng = {7};
    for (int round = 0; round < 2000; round++) {
        char text[24], back[64];
        size_t size = rng_below(&rng, sizeof text + 1), count = 0;
        for (size_t i = 0; i < size; i++)
            text[i] = "\"\\a, =\n\xC3"[rng_below(&rng, 7)];
        struct output out;
        struct point point;
        output_memory(&out);
        point_begin(&point, &out);
        point_text(&point, (struct text){text, size});
        assert_true(out.data[0] == '"' && out.data[out.size - 1] == '"');
        for (size_t i = 1; i + 1 < out.size; i++) {
            assert_int_not_equal(out.data[i], '"');
            if (out.data[i] == '\\')
                i++;
            back[count++] = out.data[i];
        }
        assert_int_equal(count, size);
        assert_memory_equal(back, text, size);
        output_discard(&out);
    }
}

static void assert_int(int64_t value, const char *expected)
{
    struct output out;
    struct point point;
    output_memory(&out);
    point_begin(&point, &out);
    point_int(&point, value);
    assert_output(&out, expected);
}

TEST(integers_end_in_i)
{
    assert_int(0, "0i");
    assert_int(-1, "-1i");
    assert_int(INT64_MAX, "9223372036854775807i");
    assert_int(INT64_MIN, "-9223372036854775808i");
}

static void assert_double(double value, const char *expected)
{
    struct output out;
    struct point point;
    output_memory(&out);
    point_begin(&point, &out);
    point_double(&point, value);
    assert_output(&out, expected);
}

TEST(doubles_are_no_integers_and_exact)
{
    assert_double(1, "1.0");
    assert_double(-0.0, "-0.0");
    assert_double(0.1, "0.1");
    assert_double(1e300, "1e+300");
    assert_double(DBL_MAX, "1.7976931348623157e+308");
    assert_double(0x1p-1074, "5e-324");
}

TEST(times_may_be_negative)
{
    struct output out;
    struct point point;
    output_memory(&out);
    series_begin(&out, "m");
    point_begin(&point, &out);
    point_put_int(&point, "a", 1);
    point_end(&point, POINT_FIRST_NS);
    assert_output(&out, "m a=1i -9223372036854775806\n");
}

TEST(what_is_packed_unpacks_to_the_same)
{
    struct rng rng = {3};
    struct packer *packer = packer_create();
    struct output packed;
    output_memory(&packed);
    static const size_t sizes[] = {0, 1, 1000, 300000, 5000000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *data = malloc(sizes[i] + 1);
        uint8_t *back;
        size_t size;
        struct error err;
        for (size_t k = 0; k < sizes[i]; k++)
            data[k] = (char)(i % 2 ? 'a' + rng_below(&rng, 4) : rng_u64(&rng));
        packer_pack(packer, data, sizes[i], &packed);
        assert_true(stream_unpack("x", (uint8_t *)packed.data, packed.size, &back, &size, &err));
        assert_int_equal(size, sizes[i]);
        assert_memory_equal(back, data, size);
        mem_free(back);
        free(data);
    }
    output_discard(&packed);
    packer_destroy(packer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_is_a_line),
        cmocka_unit_test(what_takes_a_line_apart_is_escaped_in_tags),
        cmocka_unit_test(a_tag_without_a_value_is_left_out),
        cmocka_unit_test(backslashes_stay_but_for_those_that_would_escape_what_follows),
        cmocka_unit_test(what_a_name_cannot_hold_becomes_a_question_mark),
        cmocka_unit_test(names_of_all_scripts_stay),
        cmocka_unit_test(long_names_are_cut_between_characters),
        cmocka_unit_test(field_keys_are_escaped_like_tags_and_have_a_prefix),
        cmocka_unit_test(texts_escape_quotes_and_backslashes_only),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced_in_texts),
        cmocka_unit_test(any_text_reads_back),
        cmocka_unit_test(integers_end_in_i),
        cmocka_unit_test(doubles_are_no_integers_and_exact),
        cmocka_unit_test(times_may_be_negative),
        cmocka_unit_test(what_is_packed_unpacks_to_the_same),
    };
    return cmocka_run_group_tests_name("line_protocol", tests, NULL, NULL);
}
