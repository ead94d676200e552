/*
 * Apache Spark as the engine, by a child process, python/kymo/spark.py. Requests are lines of JSON;
 * each is answered by a line, "ok" or "error" with the reason.
 */
#ifndef KYMO_REPORT_FLEET_SPARK_H
#define KYMO_REPORT_FLEET_SPARK_H

#include "store/tables/store.h"

struct spark;

/* master is a URL as Spark has them: spark://HOST:PORT, local[N], yarn. */
bool spark_start(struct spark **spark, const char *master, struct error *err);
void spark_stop(struct spark *spark);

/* Has a table of a run as a view, of all ranks or of chosen ones. Rank first: the others are read
 * of its ranks. run is the name of the directory, run=<run>. */
bool spark_table(struct spark *spark, const struct table_schema *schema, const char *dataset,
                 const char *run, const uint64_t *ranks, size_t rank_count, struct error *err);
/* Has a Parquet file as a view. */
bool spark_result(struct spark *spark, const char *name, const char *path, struct error *err);
/* Runs a query, writes its rows as a Parquet file, and has that as a view. */
bool spark_query(struct spark *spark, const char *name, const char *sql, const char *path,
                 struct error *err);

/* Adds captures to a dataset, each by a task; prints what became of each. The dataset may be an
 * address that fsspec knows, and paths are those that workers see. */
struct spark_addition {
    const char *master, *dataset;
    const char *run, *instance; /* may be NULL */
    bool replace;
    const char *const *captures;
    size_t capture_count;
};
bool spark_add(const struct spark_addition *addition, struct error *err);

#endif
