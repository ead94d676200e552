/*
 * The subset of DuckDB's C API used here, as of DuckDB 1.4. The library is loaded with dlopen when
 * the first profile is opened, and called through a struct of function pointers.
 */
#ifndef KYMO_SQL_DUCKDB_H
#define KYMO_SQL_DUCKDB_H

#include "base/base.h"

#include <assert.h>

struct duckdb_config;
struct duckdb_database;
struct duckdb_connection;
struct duckdb_statement;
struct duckdb_type;
struct duckdb_chunk;
struct duckdb_vector;

struct duckdb_result {
    uint64_t unused[3];
    void *also_unused[2];
    void *internal;
};

/* duckdb_string_t: up to 12 bytes are stored inline. */
union duckdb_text {
    struct {
        uint32_t size;
        char data[12];
    } inlined;
    struct {
        uint32_t size;
        char start[4];
        const char *data;
    } pointer;
};

static_assert(sizeof(struct duckdb_result) == 48, "as the library has it");
static_assert(sizeof(union duckdb_text) == 16, "as the library has it");

enum duckdb_state { DUCKDB_DONE = 0, DUCKDB_FAILED = 1 };

enum duckdb_statement_kind { DUCKDB_STATEMENT_SELECT = 1, DUCKDB_STATEMENT_EXPLAIN = 4 };

enum duckdb_type_kind {
    DUCKDB_BOOLEAN = 1,
    DUCKDB_TINYINT = 2, /* all up to DUCKDB_DOUBLE are numbers */
    DUCKDB_DOUBLE = 11,
    DUCKDB_HUGEINT = 16,
    DUCKDB_VARCHAR = 17,
    DUCKDB_DECIMAL = 19,
    DUCKDB_LIST = 24,
    DUCKDB_STRUCT = 25,
    DUCKDB_MAP = 26,
    DUCKDB_UNION = 28,
    DUCKDB_UHUGEINT = 32,
    DUCKDB_ARRAY = 33,
    DUCKDB_BIGNUM = 35,
};

/* F(name, result, arguments) for each function; exported with the prefix duckdb_. */
#define DUCKDB_FUNCTIONS(F)                                                                        \
    F(library_version, const char *, (void))                                                       \
    F(free, void, (void *block))                                                                   \
    F(create_config, int, (struct duckdb_config * *config))                                        \
    F(set_config, int, (struct duckdb_config * config, const char *name, const char *value))       \
    F(destroy_config, void, (struct duckdb_config * *config))                                      \
    F(open_ext, int,                                                                               \
      (const char *path, struct duckdb_database **database, struct duckdb_config *config,          \
       char **message))                                                                            \
    F(close, void, (struct duckdb_database * *database))                                           \
    F(connect, int, (struct duckdb_database * database, struct duckdb_connection * *connection))   \
    F(disconnect, void, (struct duckdb_connection * *connection))                                  \
    F(interrupt, void, (struct duckdb_connection * connection))                                    \
    F(prepare, int,                                                                                \
      (struct duckdb_connection * connection, const char *sql,                                     \
       struct duckdb_statement **statement))                                                       \
    F(prepare_error, const char *, (struct duckdb_statement * statement))                          \
    F(destroy_prepare, void, (struct duckdb_statement * *statement))                               \
    F(prepared_statement_type, int, (struct duckdb_statement * statement))                         \
    F(nparams, uint64_t, (struct duckdb_statement * statement))                                    \
    F(prepared_statement_column_count, uint64_t, (struct duckdb_statement * statement))            \
    F(prepared_statement_column_name, char *,                                                      \
      (struct duckdb_statement * statement, uint64_t column))                                      \
    F(prepared_statement_column_logical_type, struct duckdb_type *,                                \
      (struct duckdb_statement * statement, uint64_t column))                                      \
    F(get_type_id, int, (struct duckdb_type * type))                                               \
    F(logical_type_get_alias, char *, (struct duckdb_type * type))                                 \
    F(destroy_logical_type, void, (struct duckdb_type * *type))                                    \
    F(execute_prepared_streaming, int,                                                             \
      (struct duckdb_statement * statement, struct duckdb_result * result))                        \
    F(column_count, uint64_t, (struct duckdb_result * result))                                     \
    F(column_name, const char *, (struct duckdb_result * result, uint64_t column))                 \
    F(result_error, const char *, (struct duckdb_result * result))                                 \
    F(destroy_result, void, (struct duckdb_result * result))                                       \
    F(fetch_chunk, struct duckdb_chunk *, (struct duckdb_result result))                           \
    F(data_chunk_get_size, uint64_t, (struct duckdb_chunk * chunk))                                \
    F(data_chunk_get_vector, struct duckdb_vector *,                                               \
      (struct duckdb_chunk * chunk, uint64_t column))                                              \
    F(destroy_data_chunk, void, (struct duckdb_chunk * *chunk))                                    \
    F(vector_get_data, void *, (struct duckdb_vector * vector))                                    \
    F(vector_get_validity, uint64_t *, (struct duckdb_vector * vector))

struct duckdb {
#define DUCKDB_MEMBER(name, result, arguments) result(*name) arguments;
    DUCKDB_FUNCTIONS(DUCKDB_MEMBER)
#undef DUCKDB_MEMBER
};

/*
 * Loads the library once per process: from $KYMO_DUCKDB, the installation, or the system.
 */
bool duckdb_load(const struct duckdb **duckdb, struct error *err);

#endif
