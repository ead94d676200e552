/*
 * Checksums: published values, and the same result however the data is cut into pieces.
 */
#include "base/base.h"
#include "support.h"

static void assert_digest(struct sha256 *sha, const char *expected)
{
    uint8_t digest[SHA256_SIZE];
    char text[2 * SHA256_SIZE + 1];
    sha256_end(sha, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, expected);
}

/* The examples of FIPS 180, and those of NIST for long messages. */
TEST(sha256_gives_the_published_digests)
{
    struct sha256 sha;
    sha256_begin(&sha);
    assert_digest(&sha, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_begin(&sha);
    sha256_add(&sha, "abc", 3);
    assert_digest(&sha, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_begin(&sha);
    sha256_add(&sha, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56);
    assert_digest(&sha, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    sha256_begin(&sha);
    for (int i = 0; i < 100000; i++)
        sha256_add(&sha, "aaaaaaaaaa", 10);
    assert_digest(&sha, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(crc32_gives_the_published_check_value)
{
    assert_int_equal(crc32_of(0, "123456789", 9), 0xCBF43926);
    assert_int_equal(crc32_of(0, "", 0), 0);
}

TEST(pieces_give_what_the_whole_gives)
{
    struct rng rng = {1};
    uint8_t data[1000], whole[SHA256_SIZE], pieces[SHA256_SIZE];
    for (int round = 0; round < 200; round++) {
        size_t size = rng_below(&rng, sizeof data);
        struct sha256 sha;
        rng_fill(&rng, data, size);
        sha256_begin(&sha);
        sha256_add(&sha, data, size);
        sha256_end(&sha, whole);
        uint32_t crc = 0;
        sha256_begin(&sha);
        for (size_t at = 0, part; at < size; at += part) {
            part = rng_below(&rng, size - at) + 1;
            sha256_add(&sha, data + at, part);
            crc = crc32_of(crc, data + at, part);
        }
        sha256_end(&sha, pieces);
        assert_memory_equal(whole, pieces, sizeof whole);
        assert_int_equal(crc, crc32_of(0, data, size));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_published_digests),
        cmocka_unit_test(crc32_gives_the_published_check_value),
        cmocka_unit_test(pieces_give_what_the_whole_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
