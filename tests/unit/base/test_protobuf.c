/*
 * The protobuf reader and writer compared with each other and with a trivially simple encoder; then
 * the reader on invalid messages.
 */
#include "base/wire/protobuf.h"

#include "support.h"

enum { LONGEST_VARINT = 10 };

/* A varint of exactly `size` bytes, padded if the value is small. */
static void encode_in(uint8_t *to, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++, value = value >> 7)
        to[i] = (uint8_t)((value & 0x7F) | (i + 1 < size ? 0x80 : 0));
}

static size_t encoded_size(uint64_t value)
{
    size_t size = 1;
    while (value >>= 7)
        size++;
    return size;
}

/* Reads a varint from a block of exactly its size. */
static bool read_varint(const uint8_t *data, size_t size, uint64_t *value, struct pb_reader *in)
{
    uint8_t *block = exact_copy(data, size);
    *in = pb_read(block, size);
    bool ok = pb_varint(in, value);
    size_t used = (size_t)(in->at - block);
    free(block);
    in->at = data + used;
    return ok;
}

static const uint64_t edges[] = {0,
                                 1,
                                 127,
                                 128,
                                 16383,
                                 16384,
                                 (1u << 21) - 1,
                                 1u << 21,
                                 (1u << 28) - 1,
                                 1u << 28,
                                 UINT32_MAX,
                                 (1ull << 35) - 1,
                                 1ull << 35,
                                 (1ull << 42) - 1,
                                 1ull << 42,
                                 (1ull << 49) - 1,
                                 1ull << 49,
                                 (1ull << 56) - 1,
                                 1ull << 56,
                                 (1ull << 63) - 1,
                                 1ull << 63,
                                 UINT64_MAX};

TEST(numbers_of_every_length_are_read_back)
{
    for (size_t i = 0; i < COUNT_OF(edges); i++) {
        uint8_t data[LONGEST_VARINT];
        size_t size = encoded_size(edges[i]);
        encode_in(data, size, edges[i]);
        uint64_t value;
        struct pb_reader in;
        assert_true(read_varint(data, size, &value, &in));
        assert_int_equal(value, edges[i]);
        assert_ptr_equal(in.at, data + size);
        assert_null(in.problem);
    }
}

TEST(numbers_with_needless_bytes_are_read_too)
{
    for (size_t i = 0; i < COUNT_OF(edges); i++) {
        for (size_t size = encoded_size(edges[i]); size <= LONGEST_VARINT; size++) {
            uint8_t data[LONGEST_VARINT];
            encode_in(data, size, edges[i]);
            uint64_t value;
            struct pb_reader in;
            assert_true(read_varint(data, size, &value, &in));
            assert_int_equal(value, edges[i]);
            assert_ptr_equal(in.at, data + size);
        }
    }
}

TEST(a_number_cut_at_any_byte_is_a_problem)
{
    for (size_t size = 1; size <= LONGEST_VARINT; size++) {
        uint8_t data[LONGEST_VARINT];
        encode_in(data, size, 1);
        for (size_t cut = 0; cut < size; cut++) {
            uint64_t value;
            struct pb_reader in;
            assert_false(read_varint(data, cut, &value, &in));
            assert_non_null(in.problem);
            assert_ptr_equal(in.at, data);
        }
    }
}

TEST(numbers_beyond_64_bits_are_a_problem)
{
    for (unsigned last = 0; last < 256; last++) {
        uint8_t data[LONGEST_VARINT + 1];
        memset(data, 0xFF, sizeof data);
        data[9] = (uint8_t)last;
        data[10] = 0;
        uint64_t value;
        struct pb_reader in;
        bool fits = last <= 1;
        assert_int_equal(read_varint(data, sizeof data, &value, &in), fits);
        if (fits)
            assert_int_equal(value, last == 1 ? UINT64_MAX : UINT64_MAX >> 1);
        else
            assert_non_null(in.problem);
    }
}

TEST(the_word_reader_agrees_with_the_slow_one)
{
    struct rng rng = {14};
    for (unsigned round = 0; round < 300000; round++) {
        uint8_t data[16];
        rng_fill(&rng, data, sizeof data);
        uint64_t number = rng_any_width(&rng);
        size_t size = encoded_size(number) + rng_below(&rng, 2);
        size = size > LONGEST_VARINT ? LONGEST_VARINT : size;
        encode_in(data, size, number);
        uint64_t slow = 0, fast = 0;
        struct pb_reader in = pb_read(data, sizeof data);
        assert_true(pb_varint_slow(&in, &slow));
        assert_int_equal(slow, number);
        unsigned used = pb_varint_word(data, &fast);
        assert_int_equal(used, size <= 8 ? size : 0);
        if (used > 0)
            assert_int_equal(fast, slow);
    }
}

TEST(the_word_reader_agrees_with_the_slow_one_on_any_bytes)
{
    struct rng rng = {15};
    for (unsigned round = 0; round < 300000; round++) {
        uint64_t word = rng_u64(&rng) | (rng_u64(&rng) & 0x8080808080808080u);
        uint8_t data[8];
        memcpy(data, &word, sizeof data);
        uint64_t slow = 0, fast = 0;
        struct pb_reader in = pb_read(data, sizeof data);
        bool ok = pb_varint_slow(&in, &slow);
        unsigned used = pb_varint_word(data, &fast);
        assert_int_equal(used, ok ? in.at - data : 0);
        if (ok)
            assert_int_equal(fast, slow);
    }
}

TEST(a_number_is_read_up_to_its_end_and_no_other_place)
{
    struct rng rng = {16};
    for (unsigned round = 0; round < 100000; round++) {
        uint64_t word = rng_u64(&rng) | (rng_u64(&rng) & 0x8080808080808080u);
        uint8_t data[8];
        memcpy(data, &word, sizeof data);
        uint64_t slow = 0;
        struct pb_reader in = pb_read(data, sizeof data);
        bool ok = pb_varint_slow(&in, &slow);
        assert_int_equal(pb_varint_size(data), ok ? in.at - data : 0);
        for (size_t size = 1; size <= sizeof data; size++) {
            uint64_t fast = 0;
            bool ends_there = ok && data + size == in.at;
            assert_int_equal(pb_varint_until(data, data + size, &fast), ends_there);
            if (ends_there)
                assert_int_equal(fast, slow);
        }
    }
}

TEST(what_was_written_is_read_back)
{
    struct output out;
    output_memory(&out);
    pb_put_varint(&out, 1, 0);
    pb_put_varint(&out, 15, UINT64_MAX);
    pb_put_varint(&out, 16, (uint64_t)-5);
    pb_put_double(&out, 2047, -0.1);
    pb_put_text(&out, 2048, TEXT("a\0b"));
    pb_put_bytes(&out, (1u << 29) - 1, NULL, 0);
    struct pb_reader in = pb_read((uint8_t *)out.data, out.size);
    struct pb_field field;
    assert_true(pb_next(&in, &field));
    assert_int_equal(field.tag, PB_TAG(1, PB_VARINT));
    assert_int_equal(field.value, 0);
    assert_true(pb_next(&in, &field));
    assert_int_equal(field.tag, PB_TAG(15, PB_VARINT));
    assert_int_equal(field.value, UINT64_MAX);
    assert_true(pb_next(&in, &field));
    assert_int_equal(field.tag, PB_TAG(16, PB_VARINT));
    assert_int_equal((int64_t)field.value, -5);
    assert_true(pb_next(&in, &field));
    assert_int_equal(field.tag, PB_TAG(2047, PB_FIXED64));
    assert_true(pb_double(&field) == -0.1);
    assert_true(pb_next(&in, &field));
    assert_int_equal(field.tag, PB_TAG(2048, PB_BYTES));
    assert_true(text_equal(pb_text(&field), TEXT("a\0b")));
    assert_true(pb_next(&in, &field));
    assert_int_equal(field.tag, PB_TAG((1u << 29) - 1, PB_BYTES));
    assert_int_equal(field.value, 0);
    assert_false(pb_next(&in, &field));
    assert_null(in.problem);
    output_discard(&out);
}

/* The examples of the encoding guide, protobuf.dev/programming-guides/encoding. */
TEST(the_bytes_are_those_of_the_standard)
{
    struct output out;
    output_memory(&out);
    pb_put_varint(&out, 1, 150);
    pb_put_text(&out, 2, TEXT("testing"));
    size_t mark = pb_begin(&out, 3);
    pb_put_varint(&out, 1, 150);
    pb_end(&out, mark);
    static const char expected[] = "\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01";
    assert_int_equal(out.size, sizeof expected - 1);
    assert_memory_equal(out.data, expected, sizeof expected - 1);
    output_discard(&out);
}

TEST(fixed_numbers_are_little_endian)
{
    static const uint8_t data[] = {0x0D, 1, 2, 3, 0x84, 0x11, 1, 0, 0, 0, 0, 0, 0, 0x80};
    uint8_t *block = exact_copy(data, sizeof data);
    struct pb_reader in = pb_read(block, sizeof data);
    struct pb_field field;
    assert_true(pb_next(&in, &field));
    assert_int_equal(field.tag, PB_TAG(1, PB_FIXED32));
    assert_int_equal(field.value, 0x84030201u);
    assert_true(pb_next(&in, &field));
    assert_int_equal(field.tag, PB_TAG(2, PB_FIXED64));
    assert_int_equal(field.value, 0x8000000000000001u);
    assert_false(pb_next(&in, &field));
    assert_null(in.problem);
    free(block);
}

TEST(an_empty_message_has_no_fields_and_no_problem)
{
    struct pb_field field;
    struct pb_reader in = pb_read((const uint8_t *)"", 0);
    assert_false(pb_next(&in, &field));
    assert_null(in.problem);
}

/* An empty file has NULL data; clang's sanitizer rejects arithmetic on it. */
TEST(an_empty_message_may_come_from_nowhere)
{
    struct pb_field field;
    struct pb_reader in = pb_read(NULL, 0);
    assert_false(pb_next(&in, &field));
    assert_null(in.problem);
}

static void assert_refused(const char *bytes, size_t size, size_t where)
{
    uint8_t *block = exact_copy(bytes, size);
    struct pb_reader in = pb_read(block, size);
    struct pb_field field;
    assert_false(pb_next(&in, &field));
    assert_non_null(in.problem);
    assert_int_equal(in.at - block, where);
    free(block);
}

TEST(groups_and_unknown_wire_types_are_refused)
{
    for (unsigned wire = 0; wire < 8; wire++) {
        char bytes[10] = {(char)(1 << 3 | wire), 0};
        if (wire == 3 || wire == 4 || wire == 6 || wire == 7)
            assert_refused(bytes, sizeof bytes, 0);
    }
}

TEST(field_number_zero_is_refused_with_every_wire_type)
{
    for (unsigned wire = 0; wire < 8; wire++) {
        char bytes[10] = {(char)wire, 0};
        assert_refused(bytes, sizeof bytes, 0);
    }
    assert_refused("\x80\x00\x00", 3, 0);
}

TEST(field_numbers_above_the_largest_are_refused)
{
    uint8_t bytes[LONGEST_VARINT + 1] = {0};
    encode_in(bytes, 5, UINT32_MAX & ~7u);
    uint8_t *block = exact_copy(bytes, 6);
    struct pb_reader in = pb_read(block, 6);
    struct pb_field field;
    assert_true(pb_next(&in, &field));
    assert_int_equal(field.tag >> 3, (1u << 29) - 1);
    free(block);
    static const uint64_t tags[] = {1ull << 32, (1ull << 32) + 8, 1ull << 35, UINT64_MAX & ~7ull};
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        encode_in(bytes, LONGEST_VARINT, tags[i]);
        assert_refused((char *)bytes, sizeof bytes, 0);
    }
}

TEST(lengths_past_the_end_are_refused_however_large)
{
    static const uint64_t lengths[] = {4,
                                       5,
                                       127,
                                       128,
                                       UINT32_MAX,
                                       1ull << 32,
                                       (1ull << 63) - 1,
                                       1ull << 63,
                                       UINT64_MAX - 11,
                                       UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        uint8_t bytes[1 + LONGEST_VARINT + 3] = {PB_TAG(1, PB_BYTES)};
        size_t size = encoded_size(lengths[i]);
        encode_in(bytes + 1, size, lengths[i]);
        assert_refused((char *)bytes, 1 + size + 3, 0);
    }
    assert_refused("\x0A\x01", 2, 0);
}

TEST(fixed_numbers_that_are_cut_off_are_refused)
{
    static const char bytes[9] = {0};
    for (size_t size = 0; size < 8; size++) {
        char message[9];
        memcpy(message, bytes, sizeof bytes);
        message[0] = PB_TAG(1, PB_FIXED64);
        assert_refused(message, 1 + size, 1);
        message[0] = PB_TAG(1, PB_FIXED32);
        if (size < 4)
            assert_refused(message, 1 + size, 1);
    }
}

/* Nested messages, encoded from the inside out. */
static size_t wrap(uint8_t *to, uint32_t number, const uint8_t *inner, size_t inner_size)
{
    size_t tag_size = encoded_size(PB_TAG(number, PB_BYTES)),
           length_size = encoded_size(inner_size);
    encode_in(to, tag_size, PB_TAG(number, PB_BYTES));
    encode_in(to + tag_size, length_size, inner_size);
    memcpy(to + tag_size + length_size, inner, inner_size);
    return tag_size + length_size + inner_size;
}

static void nest_around(size_t size)
{
    enum { ROOM = 64 };
    uint8_t *payload = malloc(size + ROOM), *one = malloc(size + ROOM), *two = malloc(size + ROOM),
            *three = malloc(size + ROOM);
    memset(payload, 0x5A, size);
    size_t one_size = wrap(one, 1, payload, size), two_size = wrap(two, 2, one, one_size),
           three_size = wrap(three, 300, two, two_size);

    struct output out;
    output_memory(&out);
    size_t outer = pb_begin(&out, 300);
    size_t middle = pb_begin(&out, 2);
    size_t inner = pb_begin(&out, 1);
    output_write(&out, (char *)payload, size);
    pb_end(&out, inner);
    pb_end(&out, middle);
    pb_end(&out, outer);
    assert_int_equal(out.size, three_size);
    assert_memory_equal(out.data, three, three_size);
    output_discard(&out);
    free(payload), free(one), free(two), free(three);
}

TEST(nested_messages_of_every_length_of_length_are_whole)
{
    for (size_t size = 0; size < 300; size++)
        nest_around(size);
    for (size_t size = 4000; size < 4200; size++) /* around the first growth of the buffer */
        nest_around(size);
    for (size_t size = 16384 - 16; size < 16384 + 4; size++)
        nest_around(size);
    for (size_t size = (1 << 21) - 10; size < (1 << 21) + 2; size++)
        nest_around(size);
}

TEST(fields_around_a_nested_message_are_untouched)
{
    for (size_t size = 120; size < 140; size++) {
        struct output out;
        output_memory(&out);
        pb_put_text(&out, 1, TEXT("before"));
        size_t mark = pb_begin(&out, 2);
        for (size_t i = 0; i < size; i++)
            output_char(&out, (char)i);
        pb_end(&out, mark);
        pb_put_text(&out, 3, TEXT("after"));
        struct pb_reader in = pb_read((uint8_t *)out.data, out.size);
        struct pb_field field;
        assert_true(pb_next(&in, &field));
        assert_true(text_equal(pb_text(&field), TEXT("before")));
        assert_true(pb_next(&in, &field));
        assert_int_equal(field.value, size);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(field.bytes[i], i);
        assert_true(pb_next(&in, &field));
        assert_true(text_equal(pb_text(&field), TEXT("after")));
        assert_false(pb_next(&in, &field));
        assert_null(in.problem);
        output_discard(&out);
    }
}

/* Random messages, with a list of their fields. */
enum { MAX_FIELDS = 60 };

struct remembered {
    struct pb_field fields[MAX_FIELDS];
    size_t starts[MAX_FIELDS + 1]; /* offset of each field, then the end */
    size_t count;
};

static void put_random_field(struct output *out, struct rng *rng, struct pb_field *field)
{
    static const uint8_t payload[400] = {1, 2, 3};
    uint32_t number = 1 + (uint32_t)rng_below(rng, rng_below(rng, 2) ? 15 : (1u << 29) - 1);
    switch (rng_below(rng, 3)) {
    case 0:
        *field = (struct pb_field){PB_TAG(number, PB_VARINT), rng_any_width(rng), NULL};
        pb_put_varint(out, number, field->value);
        break;
    case 1: {
        double value = (double)rng_u64(rng);
        *field = (struct pb_field){PB_TAG(number, PB_FIXED64), 0, NULL};
        memcpy(&field->value, &value, sizeof value);
        pb_put_double(out, number, value);
        break;
    }
    default:
        *field =
            (struct pb_field){PB_TAG(number, PB_BYTES), rng_below(rng, sizeof payload), payload};
        pb_put_bytes(out, number, payload, field->value);
    }
}

static void put_random_message(struct output *out, struct rng *rng, struct remembered *message)
{
    message->count = rng_below(rng, MAX_FIELDS + 1);
    for (size_t i = 0; i < message->count; i++) {
        message->starts[i] = out->size;
        put_random_field(out, rng, &message->fields[i]);
    }
    message->starts[message->count] = out->size;
}

static void assert_same_field(const struct pb_field *got, const struct pb_field *expected)
{
    assert_int_equal(got->tag, expected->tag);
    assert_int_equal(got->value, expected->value);
    if ((got->tag & 7) == PB_BYTES)
        assert_memory_equal(got->bytes, expected->bytes, got->value);
}

TEST(a_message_cut_at_any_byte_gives_its_whole_fields_and_then_a_problem)
{
    struct rng rng = {16};
    for (unsigned round = 0; round < 40; round++) {
        struct output out;
        struct remembered message;
        output_memory(&out);
        put_random_message(&out, &rng, &message);
        for (size_t cut = 0; cut <= out.size; cut++) {
            uint8_t *block = exact_copy(out.data, cut);
            struct pb_reader in = pb_read(block, cut);
            struct pb_field field;
            size_t whole = 0;
            for (; pb_next(&in, &field); whole++)
                assert_same_field(&field, &message.fields[whole]);
            assert_true(message.starts[whole] <= cut);
            assert_true(whole == message.count || message.starts[whole + 1] > cut);
            assert_int_equal(in.problem == NULL, message.starts[whole] == cut);
            assert_true(in.at >= block && in.at <= block + cut);
            free(block);
        }
        output_discard(&out);
    }
}

TEST(random_bytes_end_in_a_clean_end_or_a_problem_inside_them)
{
    struct rng rng = {17};
    unsigned clean = 0, problems = 0;
    for (unsigned round = 0; round < 100000; round++) {
        uint8_t bytes[64];
        size_t size = rng_below(&rng, sizeof bytes);
        rng_fill(&rng, bytes, size);
        for (size_t i = 0; i < size; i++)
            if (rng_below(&rng, 2))
                bytes[i] &= 0x3A; /* small numbers produce more valid fields */
        uint8_t *block = exact_copy(bytes, size);
        struct pb_reader in = pb_read(block, size);
        struct pb_field field;
        const uint8_t *before = in.at;
        while (pb_next(&in, &field)) {
            assert_true(in.at > before && in.at <= block + size);
            if ((field.tag & 7) == PB_BYTES)
                assert_true(field.bytes >= before && field.bytes + field.value == in.at);
            before = in.at;
        }
        assert_true(in.problem || in.at == block + size);
        assert_true(in.at >= before && in.at <= block + size);
        clean += !in.problem;
        problems += in.problem != NULL;
        free(block);
    }
    assert_true(clean > 1000 && problems > 1000);
}

TEST(entering_a_field_reads_just_its_bytes)
{
    struct output out;
    output_memory(&out);
    size_t mark = pb_begin(&out, 1);
    pb_put_varint(&out, 2, 7);
    pb_end(&out, mark);
    pb_put_varint(&out, 3, 8);
    struct pb_reader in = pb_read((uint8_t *)out.data, out.size);
    struct pb_field field, nested;
    assert_true(pb_next(&in, &field));
    struct pb_reader inside = pb_enter(&field);
    assert_true(pb_next(&inside, &nested));
    assert_int_equal(nested.tag, PB_TAG(2, PB_VARINT));
    assert_int_equal(nested.value, 7);
    assert_false(pb_next(&inside, &nested));
    assert_null(inside.problem);
    output_discard(&out);
}

TEST(messages_are_the_same_in_a_file_as_in_memory)
{
    struct rng one = {18}, two = {18};
    struct scratch_name name = scratch_name(state, "message.pb");
    struct output file, memory;
    struct error err;
    struct remembered message;
    output_memory(&memory);
    assert_true(output_open(&file, name.path, &err));
    for (unsigned i = 0; i < 700; i++) {
        put_random_message(&memory, &one, &message);
        put_random_message(&file, &two, &message);
    }
    assert_true(memory.size > 1 << 20); /* several times the file's buffer */
    assert_true(output_commit(&file, &err));
    size_t size;
    char *data = read_whole_file(name.path, &size);
    assert_int_equal(size, memory.size);
    assert_memory_equal(data, memory.data, size);
    free(data);
    output_discard(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_length_are_read_back),
        cmocka_unit_test(numbers_with_needless_bytes_are_read_too),
        cmocka_unit_test(a_number_cut_at_any_byte_is_a_problem),
        cmocka_unit_test(numbers_beyond_64_bits_are_a_problem),
        cmocka_unit_test(the_word_reader_agrees_with_the_slow_one),
        cmocka_unit_test(the_word_reader_agrees_with_the_slow_one_on_any_bytes),
        cmocka_unit_test(a_number_is_read_up_to_its_end_and_no_other_place),
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(the_bytes_are_those_of_the_standard),
        cmocka_unit_test(fixed_numbers_are_little_endian),
        cmocka_unit_test(an_empty_message_has_no_fields_and_no_problem),
        cmocka_unit_test(an_empty_message_may_come_from_nowhere),
        cmocka_unit_test(groups_and_unknown_wire_types_are_refused),
        cmocka_unit_test(field_number_zero_is_refused_with_every_wire_type),
        cmocka_unit_test(field_numbers_above_the_largest_are_refused),
        cmocka_unit_test(lengths_past_the_end_are_refused_however_large),
        cmocka_unit_test(fixed_numbers_that_are_cut_off_are_refused),
        cmocka_unit_test(nested_messages_of_every_length_of_length_are_whole),
        cmocka_unit_test(fields_around_a_nested_message_are_untouched),
        cmocka_unit_test(a_message_cut_at_any_byte_gives_its_whole_fields_and_then_a_problem),
        cmocka_unit_test(random_bytes_end_in_a_clean_end_or_a_problem_inside_them),
        cmocka_unit_test(entering_a_field_reads_just_its_bytes),
        SCRATCH_TEST(messages_are_the_same_in_a_file_as_in_memory),
    };
    return cmocka_run_group_tests_name("protobuf", tests, NULL, NULL);
}
