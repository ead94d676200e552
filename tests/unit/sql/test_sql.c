/*
 * SQL as the server uses it: one database, several connections, canceled queries.
 */
#include "sql/sql.h"

#include "support.h"

#include <pthread.h>
#include <time.h>

/* DuckDB is not built for the thread sanitizer, which reports false races. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define SKIP_UNDER_THREAD_SANITIZER() skip()
#else
#define SKIP_UNDER_THREAD_SANITIZER() (void)0
#endif

/* A table with one column x of three rows: 1, 2, 3. */
static const char small_table[] =
    "PAR1\x15\x00\x15$\x15$,\x15\x06\x15\x00\x15\x06\x15\x06\x1c\x00\x00\x00\x02\x00\x00\x00\x06"
    "\x01\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x15\x04\x19,5\x00\x18\x06schema\x15\x02"
    "\x00\x15\x02%\x02\x18\x01x\x00\x16\x06\x19\x1c\x19\x1c&\x00\x1c\x15\x02\x19%\x06\x00\x19\x18"
    "\x01x\x15\x00\x16\x06\x16J\x16J&\x08I\x1c\x15\x00\x15\x00\x15\x02\x00<)\x06\x19&\x00\x06\x00"
    "\x00\x00\x16J\x16\x06&\x08\x16J\x00( parquet-cpp-arrow version 26.0.1\x19\x1c\x1c\x00\x00\x00"
    "z\x00\x00\x00PAR1";

static struct sql_database *open_small(void **state)
{
    const struct scratch *scratch = *state;
    struct sql_database *database;
    struct error err;
    write_whole_file(scratch_name(state, "Small.parquet").path, small_table,
                     sizeof small_table - 1);
    if (!sql_open(&database, scratch->path, &err))
        fail_msg("%s: %s", err.file, err.text);
    return database;
}

static struct sql_connection *connect_to(struct sql_database *database)
{
    struct sql_connection *connection;
    struct error err;
    assert_true(sql_connect(&connection, database, &err));
    return connection;
}

/* Whether the query returns this single value. */
static bool answers(struct sql_connection *connection, const char *query, const char *value)
{
    struct sql_result *result;
    struct error err;
    size_t rows;
    bool ok = sql_query(&result, connection, query, &err) && sql_next(result, &rows, &err) &&
              rows == 1 && text_equal(sql_value(result, 0, 0), text_of(value)) &&
              sql_next(result, &rows, &err) && rows == 0;
    sql_free(result);
    return ok;
}

static void *ask_often(void *argument)
{
    bool ok = true;
    for (int i = 0; i < 30; i++)
        ok = ok && answers(argument, "SELECT sum(x) FROM Small, range(10000)", "60000");
    return ok ? argument : NULL;
}

TEST(connections_answer_at_the_same_time)
{
    SKIP_UNDER_THREAD_SANITIZER();
    struct sql_database *database = open_small(state);
    struct sql_connection *connections[4];
    pthread_t threads[COUNT_OF(connections)];
    for (size_t i = 0; i < COUNT_OF(connections); i++) {
        connections[i] = connect_to(database);
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, connections[i]), 0);
    }
    for (size_t i = 0; i < COUNT_OF(connections); i++) {
        void *ok;
        pthread_join(threads[i], &ok);
        assert_non_null(ok);
        sql_disconnect(connections[i]);
    }
    sql_close(database);
}

struct endless {
    struct sql_connection *connection;
    bool failed;
    struct error err;
};

static void *ask_endlessly(void *argument)
{
    struct endless *endless = argument;
    struct sql_result *result;
    size_t rows;
    endless->failed = !sql_query(&result, endless->connection,
                                 "SELECT sum(range) FROM range(1000000000000000)", &endless->err) ||
                      !sql_next(result, &rows, &endless->err);
    sql_free(result);
    return NULL;
}

TEST(an_interrupted_connection_can_be_used_again_and_others_do_not_notice)
{
    SKIP_UNDER_THREAD_SANITIZER();
    struct sql_database *database = open_small(state);
    struct endless endless = {.connection = connect_to(database)};
    struct sql_connection *other = connect_to(database);
    struct timespec a_while = {.tv_nsec = 300000000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_endlessly, &endless), 0);
    nanosleep(&a_while, NULL);
    assert_true(answers(other, "SELECT count(*) FROM Small", "3"));
    sql_interrupt(endless.connection);
    pthread_join(thread, NULL);
    assert_true(endless.failed);
    assert_string_equal(endless.err.text, "interrupted");
    assert_true(answers(endless.connection, "SELECT max(x) FROM Small", "3"));
    assert_true(answers(other, "SELECT min(x) FROM Small", "1"));
    sql_disconnect(endless.connection);
    sql_disconnect(other);
    sql_close(database);
}

TEST(a_result_can_be_left_before_its_end)
{
    SKIP_UNDER_THREAD_SANITIZER();
    struct sql_database *database = open_small(state);
    struct sql_connection *connection = connect_to(database);
    for (int i = 0; i < 5; i++) {
        struct sql_result *result;
        struct error err;
        size_t rows;
        assert_true(sql_query(&result, connection, "FROM range(1000000000000)", &err));
        assert_true(sql_next(result, &rows, &err));
        assert_true(rows > 0);
        sql_free(result);
    }
    assert_true(answers(connection, "SELECT count(*) FROM Small", "3"));
    sql_disconnect(connection);
    sql_close(database);
}

TEST(columns_say_what_their_values_are)
{
    SKIP_UNDER_THREAD_SANITIZER();
    struct sql_database *database = open_small(state);
    struct sql_connection *connection = connect_to(database);
    struct sql_result *result;
    struct error err;
    size_t count, rows;
    assert_true(sql_query(&result, connection,
                          "SELECT x AS n, true AS b, [x] AS l, 'long enough to lie elsewhere' AS t,"
                          " NULL::VARCHAR AS z FROM Small ORDER BY x DESC",
                          &err));
    const struct sql_column *columns = sql_columns(result, &count);
    const char *const names[] = {"n", "b", "l", "t", "z"};
    const enum sql_kind kinds[] = {SQL_NUMBER, SQL_BOOLEAN, SQL_JSON, SQL_TEXT, SQL_TEXT};
    const char *const first[] = {"3", "true", "[3]", "long enough to lie elsewhere"};
    assert_int_equal(count, COUNT_OF(names));
    assert_true(sql_next(result, &rows, &err));
    assert_int_equal(rows, 3);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(columns[i].name, names[i]);
        assert_int_equal(columns[i].kind, kinds[i]);
        struct text value = sql_value(result, 0, i);
        assert_true(i < COUNT_OF(first) ? text_equal(value, text_of(first[i])) : !value.data);
    }
    sql_free(result);
    sql_disconnect(connection);
    sql_close(database);
}

TEST(what_is_not_there_cannot_be_opened)
{
    struct sql_database *database;
    struct error err;
    assert_false(sql_open(&database, scratch_name(state, "missing").path, &err));
    assert_null(database);
    assert_non_null(strstr(err.text, "No such file"));
    const struct scratch *scratch = *state;
    assert_false(sql_open(&database, scratch->path, &err));
    assert_non_null(strstr(err.text, "no Parquet files"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(connections_answer_at_the_same_time),
        SCRATCH_TEST(an_interrupted_connection_can_be_used_again_and_others_do_not_notice),
        SCRATCH_TEST(a_result_can_be_left_before_its_end),
        SCRATCH_TEST(columns_say_what_their_values_are),
        SCRATCH_TEST(what_is_not_there_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
