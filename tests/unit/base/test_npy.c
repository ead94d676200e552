/*
 * NumPy's .npy files: versions, types, shapes, and what is wrong with a header.
 */
#include "base/wire/wire.h"
#include "support.h"

/* Returns the file's size. */
static size_t make(uint8_t *bytes, int version, const char *header, size_t data_size)
{
    size_t start = version == 1 ? 10 : 12, length = strlen(header);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)version;
    bytes[7] = 0;
    for (size_t i = 8; i < start; i++)
        bytes[i] = (uint8_t)(length >> 8 * (i - 8));
    memcpy(bytes + start, header, length);
    for (size_t i = 0; i < data_size; i++)
        bytes[start + length + i] = (uint8_t)i;
    return start + length + data_size;
}

TEST(files_of_all_versions_are_read)
{
    for (int version = 1; version <= 3; version++) {
        uint8_t bytes[256];
        struct npy npy;
        struct error err;
        size_t size = make(bytes, version,
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
        assert_true(npy_read(bytes, size, "x.npy", &npy, &err));
        assert_string_equal(npy.type, "f4");
        assert_int_equal(npy.rank, 2);
        assert_int_equal(npy.shape[0], 2);
        assert_int_equal(npy.shape[1], 3);
        assert_int_equal(npy.size, 24);
        assert_int_equal(npy.data[23], 23);
    }
}

TEST(scalars_and_vectors_have_their_ranks)
{
    uint8_t bytes[256];
    struct npy npy;
    struct error err;
    size_t size = make(bytes, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 1);
    assert_true(npy_read(bytes, size, "x.npy", &npy, &err));
    assert_int_equal(npy.rank, 0);
    size = make(bytes, 1, "{'descr': '|V2', 'fortran_order': False, 'shape': (5,), }", 10);
    assert_true(npy_read(bytes, size, "x.npy", &npy, &err));
    assert_int_equal(npy.rank, 1);
    assert_int_equal(npy.shape[0], 5);
    assert_string_equal(npy.type, "V2");
}

TEST(what_cannot_be_read_is_told)
{
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "big-endian"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", "Fortran"},
        {"{'descr': '<f4', 'fortran_order': False}", "cannot be read"},
        {"{'fortran_order': False, 'shape': (1,)}", "cannot be read"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}", "cannot be read"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1", "cannot be read"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
         "cannot be read"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "cannot be read"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t bytes[256];
        struct npy npy;
        struct error err;
        size_t size = make(bytes, 1, cases[i].header, 4);
        assert_false(npy_read(bytes, size, "x.npy", &npy, &err));
        assert_non_null(strstr(err.text, cases[i].message));
    }
}

TEST(a_file_that_is_cut_off_is_refused)
{
    uint8_t bytes[256];
    struct npy npy;
    struct error err;
    size_t size = make(bytes, 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4);
    for (size_t cut = 0; cut < size - 4; cut++) {
        uint8_t *copy = mem_alloc(cut + 1); /* the sanitizer sees reads behind the end */
        memcpy(copy + 1, bytes, cut);
        assert_false(npy_read(copy + 1, cut, "x.npy", &npy, &err));
        mem_free(copy);
    }
    bytes[6] = 4;
    assert_false(npy_read(bytes, size, "x.npy", &npy, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_all_versions_are_read),
        cmocka_unit_test(scalars_and_vectors_have_their_ranks),
        cmocka_unit_test(what_cannot_be_read_is_told),
        cmocka_unit_test(a_file_that_is_cut_off_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
