/*
 * Datasets: the file that marks one, ranks that are removed.
 */
#include "base/directory.h"
#include "base/wire/wire.h"
#include "report/fleet/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DATASET_VERSION = 1 };
#define DATASET_FORMAT "kymo dataset"

static bool read_mark(const char *path, int64_t *version, struct error *err)
{
    struct file file;
    struct json_value key, value;
    bool is_ours = false;
    *version = 0;
    if (!file_open(&file, path, err))
        return false;
    struct json_reader in = json_read((struct text){(const char *)file.data, file.size});
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            break;
        if (text_equal(key.text, TEXT("format")))
            is_ours = text_equal(value.text, TEXT(DATASET_FORMAT));
        else if (text_equal(key.text, TEXT("version")) && value.kind == JSON_NUMBER)
            for (size_t i = 0; i < value.text.size && i < 9; i++)
                *version = *version * 10 + (value.text.data[i] - '0');
    }
    file_close(&file);
    return is_ours || error_in_file(err, path, "is not the description of a dataset");
}

bool dataset_check(const char *dataset, struct error *err)
{
    char *path = path_format("%s/" DATASET_FILE, dataset);
    int64_t version;
    bool ok = true;
    if (access(path, F_OK) != 0) {
        bool is_missing = errno == ENOENT && access(dataset, F_OK) == 0;
        ok = is_missing ? error_in_file(err, dataset, "is not a dataset; kymo fleet add makes one")
                        : error_in_file(err, dataset, "cannot open: %s", strerror(errno));
    }
    ok = ok && read_mark(path, &version, err);
    if (ok && version != DATASET_VERSION)
        ok = error_in_file(err, path, "is of version %lld; this program reads version %d",
                           (long long)version, DATASET_VERSION);
    mem_free(path);
    return ok;
}

static bool has_other_files(const char *dataset)
{
    name_list names = {0};
    names_find(dataset, "", &names);
    bool found = false;
    char **name;
    array_each (name, &names)
        found |= (*name)[0] != '_' && (*name)[0] != '.' && strcmp(*name, "lost+found") != 0;
    names_free(&names);
    return found;
}

bool dataset_is_marked(const char *dataset)
{
    char *path = path_format("%s/" DATASET_FILE, dataset);
    bool is_there = access(path, F_OK) == 0;
    mem_free(path);
    return is_there;
}

bool dataset_is_usable(const char *dataset, struct error *err)
{
    /* In this order: another process may be making it, which marks it before it adds files. */
    bool has_others = has_other_files(dataset);
    if (dataset_is_marked(dataset))
        return dataset_check(dataset, err);
    return !has_others ||
           error_in_file(err, dataset,
                         "has other files and is not a dataset; name a new or empty directory");
}

bool dataset_create(const char *dataset, struct error *err)
{
    struct output out;
    if (!make_directories(dataset, err) || !dataset_is_usable(dataset, err))
        return false;
    if (dataset_is_marked(dataset))
        return true;
    char *path = path_format("%s/" DATASET_FILE, dataset);
    bool ok = output_open(&out, path, err);
    if (ok) {
        output_format(&out, "{\"format\": \"" DATASET_FORMAT "\", \"version\": %d}\n",
                      DATASET_VERSION);
        ok = output_commit(&out, err);
    }
    mem_free(path);
    return ok;
}

/* --- removing --- */

static bool remove_rank(const char *dataset, const char *run, const char *escaped_run, int64_t rank,
                        size_t *removed, struct error *err)
{
    struct rank_lock lock;
    if (!rank_lock_take(&lock, dataset, run, rank, err))
        return false;
    bool ok = rank_remove(&lock, dataset, escaped_run, rank, removed, err);
    rank_lock_drop(&lock);
    return ok;
}

/* The ranks of a run, with repetitions. */
static void run_ranks(const char *dataset, const char *escaped_run, name_list *ranks)
{
    name_list instances = {0};
    char *run = path_format("%s/" RANK_TABLE "/run=%s", dataset, escaped_run);
    names_find(run, "instance=", &instances);
    char **instance;
    array_each (instance, &instances) {
        char *path = path_format("%s/instance=%s", run, *instance);
        names_find(path, "rank=", ranks);
        mem_free(path);
    }
    names_free(&instances);
    mem_free(run);
}

bool dataset_remove(const char *dataset, const char *run, int64_t rank, size_t *removed,
                    struct error *err)
{
    *removed = 0;
    if (!dataset_check(dataset, err) || !hive_check("run", run, err))
        return false;
    staging_clean(dataset);
    char *escaped = hive_escape(run);
    name_list ranks = {0};
    run_ranks(dataset, escaped, &ranks);
    bool ok = true;
    for (size_t i = 0; i < ranks.count && ok; i++) {
        int64_t number = strtoll(ranks.items[i], NULL, 10);
        if (rank < 0 || number == rank)
            ok = remove_rank(dataset, run, escaped, number, removed, err);
    }
    if (ok && *removed == 0 && rank >= 0)
        ok = error_in_file(err, dataset, "run %s has no rank %lld", run, (long long)rank);
    else if (ok && *removed == 0)
        ok = error_in_file(err, dataset, "has no run %s", run);
    names_free(&ranks);
    mem_free(escaped);
    return ok;
}
