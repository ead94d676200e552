/*
 * Compressed streams: output equals the input of the compressor, read in chunks of any size;
 * truncation and damage are reported.
 */
#include "base/wire/stream.h"

#include "support.h"

#include <zlib.h>
#include <zstd.h>

struct bytes {
    uint8_t *data;
    size_t size;
};

/* Repeats with changes, like the events of a profile: neither random nor constant. */
static struct bytes sample(uint64_t seed, size_t size)
{
    struct rng rng = {seed};
    struct bytes plain = {malloc(size + 1), size};
    for (size_t i = 0; i < size; i++)
        plain.data[i] = rng_below(&rng, 4) || i < 32 ? (uint8_t)(i % 31) : (uint8_t)rng_u64(&rng);
    return plain;
}

static void append(struct bytes *to, const void *data, size_t size)
{
    to->data = realloc(to->data, to->size + size + 1);
    memcpy(to->data + to->size, data, size);
    to->size += size;
}

static void append_gzip(struct bytes *to, const uint8_t *data, size_t size)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t bound = deflateBound(&z, size);
    uint8_t *packed = malloc(bound);
    z.next_in = (z_const Bytef *)(uintptr_t)data;
    z.avail_in = (unsigned)size;
    z.next_out = packed;
    z.avail_out = (unsigned)bound;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    append(to, packed, z.total_out);
    deflateEnd(&z);
    free(packed);
}

static void append_zstd(struct bytes *to, const uint8_t *data, size_t size)
{
    ZSTD_CCtx *z = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
    size_t bound = ZSTD_compressBound(size);
    uint8_t *packed = malloc(bound);
    size_t packed_size = ZSTD_compress2(z, packed, bound, data, size);
    assert_false(ZSTD_isError(packed_size));
    append(to, packed, packed_size);
    ZSTD_freeCCtx(z);
    free(packed);
}

typedef void append_packed(struct bytes *to, const uint8_t *data, size_t size);
static append_packed *const packers[] = {append_gzip, append_zstd};
static const char *const packer_names[] = {"gzip", "zstd"};

static struct bytes pack(size_t kind, const uint8_t *data, size_t size)
{
    struct bytes packed = {0};
    packers[kind](&packed, data, size);
    return packed;
}

/* Unpacks from a block of exactly the size of the data. */
static bool unpack(const uint8_t *data, size_t size, struct bytes *unpacked, struct error *err)
{
    uint8_t *block = exact_copy(data, size);
    *unpacked = (struct bytes){0};
    bool ok = stream_unpack("input", block, size, &unpacked->data, &unpacked->size, err);
    free(block);
    return ok;
}

static bool same(struct bytes a, const uint8_t *data, size_t size)
{
    return a.size == size && (size == 0 || memcmp(a.data, data, size) == 0);
}

TEST(kinds_are_told_by_their_first_bytes)
{
    assert_int_equal(stream_kind_of(NULL, 0), STREAM_PLAIN);
    assert_int_equal(stream_kind_of((const uint8_t *)"\x1F\x8B", 2), STREAM_GZIP);
    assert_int_equal(stream_kind_of((const uint8_t *)"\x1F", 1), STREAM_PLAIN);
    assert_int_equal(stream_kind_of((const uint8_t *)"\x28\xB5\x2F\xFD", 4), STREAM_ZSTD);
    assert_int_equal(stream_kind_of((const uint8_t *)"\x28\xB5\x2F", 3), STREAM_PLAIN);
    assert_int_equal(stream_kind_of((const uint8_t *)"\x0A\x0B\x0C\x0D", 4), STREAM_PLAIN);
    assert_string_equal(stream_kind_name(STREAM_PLAIN), "none");
    assert_string_equal(stream_kind_name(STREAM_GZIP), "gzip");
    assert_string_equal(stream_kind_name(STREAM_ZSTD), "zstd");
}

TEST(data_of_every_size_comes_out_as_it_was)
{
    static const size_t sizes[] = {0,      1, 2, 100, 65536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1,
                                   5000000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct bytes plain = sample(i, sizes[i]), unpacked;
        struct error err;
        for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
            struct bytes packed = pack(kind, plain.data, plain.size);
            assert_true(unpack(packed.data, packed.size, &unpacked, &err));
            assert_true(same(unpacked, plain.data, plain.size));
            mem_free(unpacked.data);
            free(packed.data);
        }
        assert_true(unpack(plain.data, plain.size, &unpacked, &err));
        assert_true(same(unpacked, plain.data, plain.size));
        mem_free(unpacked.data);
        free(plain.data);
    }
}

TEST(no_data_at_all_is_plain_and_empty)
{
    struct bytes unpacked;
    struct error err;
    assert_true(stream_unpack("input", NULL, 0, &unpacked.data, &unpacked.size, &err));
    assert_int_equal(unpacked.size, 0);
    mem_free(unpacked.data);
}

TEST(members_and_frames_in_a_row_are_one_stream)
{
    for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
        struct bytes plain = sample(19, 400000), packed = {0}, unpacked;
        struct rng rng = {20};
        for (size_t at = 0; at < plain.size;) {
            size_t size = rng_below(&rng, 5) ? rng_below(&rng, 9000) : 0;
            size = size < plain.size - at ? size : plain.size - at;
            packers[kind](&packed, plain.data + at, size);
            at += size;
        }
        struct error err;
        assert_true(unpack(packed.data, packed.size, &unpacked, &err));
        assert_true(same(unpacked, plain.data, plain.size));
        mem_free(unpacked.data);
        free(packed.data);
        free(plain.data);
    }
}

TEST(thousands_of_empty_members_are_nothing)
{
    for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
        struct bytes packed = {0}, one = pack(kind, (const uint8_t *)"", 0), unpacked;
        for (unsigned i = 0; i < 5000; i++)
            append(&packed, one.data, one.size);
        struct error err;
        assert_true(unpack(packed.data, packed.size, &unpacked, &err));
        assert_int_equal(unpacked.size, 0);
        mem_free(unpacked.data);
        free(packed.data);
        free(one.data);
    }
}

TEST(skippable_zstd_frames_are_skipped)
{
    struct bytes packed = {0}, unpacked;
    append_zstd(&packed, (const uint8_t *)"one ", 4);
    append(&packed, "\x50\x2A\x4D\x18\x05\0\0\0.....", 13);
    append_zstd(&packed, (const uint8_t *)"two", 3);
    struct error err;
    assert_true(unpack(packed.data, packed.size, &unpacked, &err));
    assert_true(same(unpacked, (const uint8_t *)"one two", 7));
    mem_free(unpacked.data);
    free(packed.data);
}

/* Reads everything in chunks of `size` bytes, or of random sizes (including 0) if size is 0. */
static struct bytes read_in_pieces(struct bytes packed, size_t size, struct rng *rng)
{
    struct stream *stream = stream_open("input", packed.data, packed.size);
    struct bytes all = {0};
    uint8_t *piece = malloc(70000);
    size_t capacity = 0;
    for (;;) {
        size_t wanted = size ? size : rng_below(rng, rng_below(rng, 9) ? 50 : 70000), got = 99;
        uint8_t *exact = size > 100 || wanted > 100 ? piece : malloc(wanted);
        struct error err;
        assert_true(stream_read(stream, exact, wanted, &got, &err));
        assert_true(got <= wanted);
        if (all.size + got > capacity)
            all.data = realloc(all.data, capacity = capacity * 2 + 100000);
        memcpy(all.data + all.size, exact, got);
        all.size += got;
        if (exact != piece)
            free(exact);
        if (got < wanted)
            break;
    }
    uint8_t more[10];
    size_t got = 99;
    struct error err;
    assert_true(stream_read(stream, more, sizeof more, &got, &err));
    assert_int_equal(got, 0);
    stream_close(stream);
    free(piece);
    return all;
}

TEST(pieces_of_any_size_make_the_same_whole)
{
    static const size_t sizes[] = {1, 2, 3, 7, 1000, 4093, 65536, 0, 0, 0};
    struct rng rng = {21};
    struct bytes plain = sample(22, 131072);
    for (size_t kind = 0; kind <= COUNT_OF(packers); kind++) {
        struct bytes packed = {0};
        if (kind == COUNT_OF(packers)) {
            append(&packed, plain.data, plain.size);
        } else {
            packers[kind](&packed, plain.data, 65536);
            packers[kind](&packed, plain.data, 0);
            packers[kind](&packed, plain.data + 65536, plain.size - 65536);
        }
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            struct bytes all = read_in_pieces(packed, sizes[i], &rng);
            assert_true(same(all, plain.data, plain.size));
            free(all.data);
        }
        free(packed.data);
    }
    free(plain.data);
}

/* Three members, and the end of each. */
struct members {
    struct bytes plain, packed;
    size_t plain_ends[3], packed_ends[3];
};

static struct members three_members(size_t kind)
{
    struct members members = {.plain = sample(23, 300)};
    size_t begin = 0;
    for (size_t i = 0; i < 3; i++) {
        members.plain_ends[i] = 100 * (i + 1);
        packers[kind](&members.packed, members.plain.data + begin, members.plain_ends[i] - begin);
        members.packed_ends[i] = members.packed.size;
        begin = members.plain_ends[i];
    }
    return members;
}

TEST(a_stream_cut_at_any_byte_is_an_error_unless_a_member_ends_there)
{
    for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
        struct members members = three_members(kind);
        size_t magic = kind == 0 ? 2 : 4, ends = 0;
        for (size_t cut = magic; cut <= members.packed.size; cut++) {
            struct bytes unpacked;
            struct error err;
            bool ok = unpack(members.packed.data, cut, &unpacked, &err);
            assert_int_equal(ok, cut == members.packed_ends[ends]);
            if (ok) {
                assert_true(same(unpacked, members.plain.data, members.plain_ends[ends]));
                mem_free(unpacked.data);
                ends++;
            } else {
                assert_string_equal(err.file, "input");
                assert_non_null(strstr(err.text, packer_names[kind]));
                assert_non_null(strstr(err.text, "truncated"));
                assert_true(err.offset <= cut);
            }
        }
        assert_int_equal(ends, 3);
        free(members.plain.data);
        free(members.packed.data);
    }
}

/* The final checksum covers the content, so a flipped bit is an error, or had no effect, or made
 * the first bytes those of uncompressed data. */
TEST(any_flipped_bit_is_an_error_or_changes_nothing)
{
    for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
        struct members members = three_members(kind);
        struct bytes packed = members.packed;
        size_t errors = 0;
        for (size_t bit = 0; bit < packed.size * 8; bit++) {
            packed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            struct bytes unpacked;
            struct error err;
            if (!unpack(packed.data, packed.size, &unpacked, &err)) {
                assert_string_equal(err.file, "input");
                assert_true(err.offset <= packed.size);
                errors++;
            } else {
                bool plain = stream_kind_of(packed.data, packed.size) == STREAM_PLAIN;
                assert_true(plain ? same(unpacked, packed.data, packed.size)
                                  : same(unpacked, members.plain.data, members.plain.size));
                mem_free(unpacked.data);
            }
            packed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_true(errors > packed.size * 6);
        free(members.plain.data);
        free(members.packed.data);
    }
}

TEST(streams_full_of_damage_never_read_as_the_real_thing)
{
    struct rng rng = {24};
    for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
        struct bytes plain = sample(25, 20000), packed = pack(kind, plain.data, plain.size);
        for (unsigned round = 0; round < 500; round++) {
            struct bytes damaged = {exact_copy(packed.data, packed.size), packed.size}, unpacked;
            size_t changes = 1 + rng_below(&rng, 20);
            for (size_t i = 0; i < changes; i++) {
                size_t at = 20 + rng_below(&rng, packed.size - 24); /* after the headers */
                damaged.data[at] ^= (uint8_t)(1 + rng_below(&rng, 255));
            }
            struct error err;
            if (memcmp(damaged.data, packed.data, packed.size) != 0)
                assert_false(unpack(damaged.data, damaged.size, &unpacked, &err));
            free(damaged.data);
        }
        free(packed.data);
        free(plain.data);
    }
}

TEST(reading_on_after_an_error_stays_an_error)
{
    for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
        struct bytes plain = sample(26, 1000), packed = pack(kind, plain.data, plain.size);
        struct stream *stream = stream_open("input", packed.data, packed.size - 1);
        uint8_t buffer[5000];
        size_t got;
        struct error err;
        for (unsigned i = 0; i < 40; i++)
            assert_false(stream_read(stream, buffer, sizeof buffer, &got, &err));
        stream_close(stream);
        free(packed.data);
        free(plain.data);
    }
}

/* The content fills the buffer exactly, and only the checksum after it is missing. */
TEST(a_missing_end_shows_even_when_all_content_was_read)
{
    for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
        struct bytes plain = sample(27, 1000), packed = pack(kind, plain.data, plain.size);
        struct stream *stream = stream_open("input", packed.data, packed.size - 1);
        uint8_t buffer[1000];
        size_t got;
        struct error err;
        assert_true(stream_read(stream, buffer, sizeof buffer, &got, &err));
        assert_int_equal(got, sizeof buffer);
        assert_false(stream_read(stream, buffer, sizeof buffer, &got, &err));
        assert_int_equal(got, 0);
        assert_non_null(strstr(err.text, "truncated"));
        stream_close(stream);
        free(packed.data);
        free(plain.data);
    }
}

TEST(what_follows_the_last_member_must_be_another_one)
{
    for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
        struct bytes packed = pack(kind, (const uint8_t *)"content", 7), unpacked;
        size_t end = packed.size;
        append(&packed, "this is no member", 17);
        struct error err;
        assert_false(unpack(packed.data, packed.size, &unpacked, &err));
        assert_non_null(strstr(err.text, "damaged"));
        assert_in_range(err.offset, end, packed.size);
        free(packed.data);
    }
}

TEST(a_stream_that_is_closed_half_read_leaves_nothing)
{
    for (size_t kind = 0; kind < COUNT_OF(packers); kind++) {
        struct bytes plain = sample(28, 100000), packed = pack(kind, plain.data, plain.size);
        struct stream *stream = stream_open("input", packed.data, packed.size);
        uint8_t buffer[100];
        size_t got;
        struct error err;
        assert_true(stream_read(stream, buffer, sizeof buffer, &got, &err));
        assert_memory_equal(buffer, plain.data, sizeof buffer);
        stream_close(stream);
        stream_close(stream_open("input", packed.data, packed.size));
        free(packed.data);
        free(plain.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_told_by_their_first_bytes),
        cmocka_unit_test(data_of_every_size_comes_out_as_it_was),
        cmocka_unit_test(no_data_at_all_is_plain_and_empty),
        cmocka_unit_test(members_and_frames_in_a_row_are_one_stream),
        cmocka_unit_test(thousands_of_empty_members_are_nothing),
        cmocka_unit_test(skippable_zstd_frames_are_skipped),
        cmocka_unit_test(pieces_of_any_size_make_the_same_whole),
        cmocka_unit_test(a_stream_cut_at_any_byte_is_an_error_unless_a_member_ends_there),
        cmocka_unit_test(any_flipped_bit_is_an_error_or_changes_nothing),
        cmocka_unit_test(streams_full_of_damage_never_read_as_the_real_thing),
        cmocka_unit_test(reading_on_after_an_error_stays_an_error),
        cmocka_unit_test(a_missing_end_shows_even_when_all_content_was_read),
        cmocka_unit_test(what_follows_the_last_member_must_be_another_one),
        cmocka_unit_test(a_stream_that_is_closed_half_read_leaves_nothing),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
