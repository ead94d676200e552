/*
 * cli: the command line. One file per subcommand; each reads its options, opens what they name and
 * hands it to the modules below. Only here are messages printed and exit codes chosen.
 */
#ifndef KYMO_CLI_H
#define KYMO_CLI_H

#include "export/export.h"
#include "import/import.h"

#include <limits.h>

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_CHOICE, OPTION_LIST };

/* Values of an option that can be given more than once. */
struct text_list {
    const char **items;
    size_t count, max;
};

struct option {
    const char *name; /* without dashes */
    char letter;      /* 0 for none */
    enum option_kind kind;
    void *value;          /* bool, const char *, unsigned long, const char * or struct text_list */
    const char *argument; /* shown in the help, NULL for flags */
    const char *help;
    const char *const *choices; /* for OPTION_CHOICE, ended by NULL */
};

/* An option of every subcommand; what it says takes effect when it is read. */
extern const char *const log_levels[];
extern const char *log_level;
#define LOG_LEVEL_OPTION                                                                           \
    {                                                                                              \
        "log-level", 0,       OPTION_CHOICE,                                                       \
        &log_level,  "LEVEL", "which messages to print (default: info)",                           \
        log_levels}

struct command {
    const char *name;
    const char *summary;         /* one line */
    const char *about;           /* paragraphs for the manual, an empty line between them */
    const char *usage;           /* what stands behind the name; see operand_of */
    const char *const *examples; /* what stands behind the name, ended by NULL */
    int (*run)(int count, char **arguments);
};

extern const struct command command_convert, command_info, command_inspect, command_recover,
    command_serve, command_sql, command_timeline, command_view;

/*
 * Reads options into their values and the rest into operands (at most `most`). Prints help and
 * exits for --help; EXIT_DONE means go on, EXIT_USAGE that a message was printed.
 */
int options_read(const struct command *command, const struct option *options, size_t option_count,
                 int count, char **arguments, const char **operands, size_t max,
                 size_t *operand_count);

/* The same, but for the first word that is no option and all behind it, which are a command of the
 * user's: `*rest` is where it begins. */
int options_read_before(const struct command *command, const struct option *options,
                        size_t option_count, int count, char **arguments, int *rest);

/* Calls back with the command's options, which live only while it runs, and does nothing else. */
typedef void options_visitor(const struct command *command, const struct option *options,
                             size_t option_count, void *context);
void options_visit(const struct command *command, options_visitor *visit, void *context);

/* The whole program, as its manual and its completions describe it. */
struct tool {
    const struct command *const *commands;
    size_t command_count;
    const struct option *options; /* in place of a command; their values are not used */
    size_t option_count;
};

/* kymo --generate, which the build calls: manual pages, completions for shells; returns the exit
 * code. */
int generate(const struct tool *tool, int count, char **arguments);

/* What kind of word a shell has to complete. */
enum word_kind { WORD_FREE, WORD_CHOICE, WORD_FILE, WORD_DIRECTORY, WORD_PROFILE, WORD_COMMAND };
/* By the names in capitals: an option's argument, the first operand in a command's usage. */
enum word_kind value_of(const struct option *option);
enum word_kind operand_of(const struct command *command);

/* Other tools' names that Kymo answers to, ended by NULL. */
extern const char *const compat_names[];

/* The pages kymo.1, kymo-COMMAND.1 and those of the compatible names, into a directory. */
bool manual_write(const struct tool *tool, const char *directory, struct error *err);
void completion_bash(const struct tool *tool, struct output *out);
void completion_zsh(const struct tool *tool, struct output *out);
void completion_fish(const struct tool *tool, struct output *out);

/* "kymo", or the compatible name it was called by. */
const char *program_name(void);
void program_name_set(const char *path);

/* The process of a query that has limits; see sql_task_run. Returns the exit code. */
int run_sql_child(void);

/* The tables of a processed profile, to standard output; returns the exit code. */
int print_profile_schema(void);

/* The exit code after printing to standard output; says so where that failed. */
int finish_printing(void);

/* Prints "did you mean" behind a wrong word, if one of the candidates is near. */
void suggest(const char *word, const char *const *candidates, size_t count, const char *prefix);

/* A capture that was opened and worked out. */
struct session {
    struct capture capture;
    struct pool *pool;
    struct source *source;
    struct analysis analysis;
};

/* What of a capture is wanted. */
struct choice {
    struct filter filter;
    enum capture_part part;
    size_t device; /* for CAPTURE_DEVICE: which */
};

/* Prints what went wrong and returns false, with nothing left to close. */
bool session_open(struct session *session, const char *path, unsigned long jobs);
bool session_open_chosen(struct session *session, const char *path, unsigned long jobs,
                         const struct choice *choice);
void session_close(struct session *session);

/* How text looks on standard output, or in a file when to_file. */
struct text_style style_for(bool to_file, size_t top);

void print_error(const struct error *err);
/* What a capture could not take. */
void print_warnings(const struct capture *capture);
/* What was recovered and what could not be; whether all was. */
bool print_recovered(const recovered_list *list, enum log_level failure);

/* How and where profiles are shown, for the subcommands that do. */
struct serving {
    unsigned long port, api_port; /* SERVING_USUAL_PORT when not given */
    const char *host, *token, *token_file, *source_root;
    unsigned long upload_limit_gib;
    bool has_no_ui;
};
#define SERVING_DEFAULT_PORT ULONG_MAX
#define SERVING_DEFAULTS                                                                           \
    {.port = SERVING_DEFAULT_PORT, .api_port = SERVING_DEFAULT_PORT, .upload_limit_gib = 64}
#define SERVING_OPTIONS(serving)                                                                   \
    {"port",        'p',                                                                           \
     OPTION_NUMBER, &(serving).port,                                                               \
     "PORT",        "port of the UI and the API (default: 3001)",                                  \
     NULL},                                                                                        \
        {"api-server-port",                                                                        \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(serving).api_port,                                                                      \
         "PORT",                                                                                   \
         "port of the API only (default: 3002)",                                                   \
         NULL},                                                                                    \
        {"host",                                                                                   \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         &(serving).host,                                                                          \
         "ADDRESS",                                                                                \
         "address to listen on; non-loopback addresses need a token (default: 127.0.0.1)",         \
         NULL},                                                                                    \
        {"token",     0,                                                                           \
         OPTION_TEXT, &(serving).token,                                                            \
         "TOKEN",     "access token for clients (default: none on loopback, else random)",         \
         NULL},                                                                                    \
        {"token-file", 0,                                                                          \
         OPTION_TEXT,  &(serving).token_file,                                                      \
         "FILE",       "file with the access token; also: variable KYMO_TOKEN",                    \
         NULL},                                                                                    \
        {"disable-ui", 0, OPTION_FLAG, &(serving).has_no_ui, NULL, "serve the API only", NULL},    \
        {"upload-limit",                                                                           \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(serving).upload_limit_gib,                                                              \
         "GIB",                                                                                    \
         "size limit of all uploads together (default: 64)",                                       \
         NULL},                                                                                    \
    {                                                                                              \
        "framework-source-root", 0, OPTION_TEXT, &(serving).source_root, "DIR",                    \
            "directory of the source files named in stack frames", NULL                            \
    }
/* Whether the values can be; says so where not, and returns the exit code. Reads the token from
 * where it is and hides it from lists of processes. */
int serving_check(const struct command *command, struct serving *serving);
/* Whether the user wants it: names a place, or sits at a terminal. */
bool serving_is_wanted(const struct serving *serving);
/* Serves until it is told to end; returns the exit code. profile and logs may be NULL. */
int serving_run(const struct serving *serving, const char *data_path, const char *profile,
                const char *logs);

/* Shows how far a source has been read, if that takes a while and somebody watches. */
struct progress;
/* Writes it to a file descriptor as well: a line with the percentage of all the work whenever that
 * changes. */
void progress_set_fd(int fd);
struct progress *progress_start(const struct source *source, const char *what);
void progress_stop(struct progress *progress);

/* From start to stop, Ctrl-C ends the connection's query, or is only noted where that is NULL. True
 * when it happened. */
struct interrupt;
struct interrupt *interrupt_start(struct sql_connection *connection);
bool interrupt_is_pending(void *unused);
bool interrupt_stop(struct interrupt *interrupt);

#endif
