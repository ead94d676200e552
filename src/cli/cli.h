/*
 * cli: the command line, one file per subcommand. Only cli and serve print messages; only cli
 * chooses exit codes.
 */
#ifndef KYMO_CLI_CLI_H
#define KYMO_CLI_CLI_H

#include "export/export.h"
#include "import/import.h"

#include <limits.h>

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_NUMBER,
    OPTION_CHOICE,
    OPTION_LIST,
    OPTION_MAYBE, /* a choice that may be left out: then the first */
};

/* Values of a repeatable option. */
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
    const char *const *choices; /* for OPTION_CHOICE and OPTION_MAYBE, NULL-terminated */
};

/* An option of every subcommand; takes effect when parsed. */
extern const char *const log_levels[];
extern const char *log_level;
#define LOG_LEVEL_OPTION                                                                           \
    {                                                                                              \
        "log-level", 0,       OPTION_CHOICE,                                                       \
        &log_level,  "LEVEL", "which messages to print (default: info)",                           \
        log_levels}

/* Limits of commands that read captures, for captures that need more than most. */
extern unsigned long scratch_limit_gib; /* 0: by the size of the capture */
#define LIMIT_OPTIONS                                                                              \
    {"scratch-limit",                                                                              \
     0,                                                                                            \
     OPTION_NUMBER,                                                                                \
     &scratch_limit_gib,                                                                           \
     "GIB",                                                                                        \
     "limit of temporary data (default: 1 GiB plus 32 times the unpacked capture)",                \
     NULL},                                                                                        \
        {"track-limit",                                                                            \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &catalog_limits.tracks,                                                                   \
         "N",                                                                                      \
         "limit of lines, planes and threads of a file (default: 100000 plus one per 32 bytes)",   \
         NULL},                                                                                    \
    {                                                                                              \
        "name-limit", 0, OPTION_NUMBER, &catalog_limits.names, "N",                                \
            "limit of names and event types of a file (default: 1000000 plus one per 2 bytes)",    \
            NULL                                                                                   \
    }
/* Applies them; before a capture is read. */
void limit_memory(void);

/* Options of commands that answer from the tables of profiles, for a struct with `file`,
 * `data_path` and `jobs`. */
#define ANSWER_OPTIONS(values)                                                                     \
    {"output-file", 0,                                                                             \
     OPTION_TEXT,   &(values).file,                                                                \
     "FILE",        "output file (default: standard output)",                                      \
     NULL},                                                                                        \
        {"data-path", 0,                                                                           \
         OPTION_TEXT, &(values).data_path,                                                         \
         "DIR",       "workspace directory (default: ~/.local/share/kymo)",                        \
         NULL},                                                                                    \
        LIMIT_OPTIONS, LOG_LEVEL_OPTION,                                                           \
    {                                                                                              \
        "jobs", 'j', OPTION_NUMBER, &(values).jobs, "N", "threads to use (default: all cores)",    \
            NULL                                                                                   \
    }

/* An option of the emulated tool that is refused, and why. */
struct refusal {
    const char *option, *reason;
};

/* An option as the guide of a Neuron tool lists it. */
struct guide_option {
    const char *program, *option, *words;
};

struct command {
    const char *name;
    const char *summary;            /* one line */
    const char *about;              /* paragraphs for the manual, separated by empty lines */
    const char *usage;              /* text after the name; see operand_of */
    const char *const *examples;    /* text after the name, NULL-terminated */
    const struct refusal *refusals; /* ends with one without an option; or NULL */
    /* Where a guide prints the help: its options, ending with one without a program, and what
     * follows them. */
    const struct guide_option *guide_options;
    const char *guide_operand, *guide_argument, *guide_argument_words;
    int (*run)(int count, char **arguments);
};

extern const struct command command_capture, command_convert, command_diff, command_figures,
    command_fleet, command_info, command_inspect, command_nccom_test, command_neff,
    command_recommend, command_recover, command_serve, command_show_session, command_sql,
    command_stats, command_timeline, command_tool, command_view, command_xprof;

/* Prints the help of a command: Kymo's, or that of the tool whose name it was called by. */
void help_print(const struct command *command, const struct option *options, size_t count);
/* "--version" or "-v", before or behind the command. */
bool is_version_option(const char *word);
int version_print(void);

/*
 * Parses options into their values and the rest into operands (at most `max`). Prints help and
 * exits for --help. Returns EXIT_DONE to continue, EXIT_USAGE after printing a message.
 */
int options_read(const struct command *command, const struct option *options, size_t option_count,
                 int count, char **arguments, const char **operands, size_t max,
                 size_t *operand_count);

/* The same, but stops at the first word that is not an option, the start of a user's command: *rest
 * is its index. */
int options_read_before(const struct command *command, const struct option *options,
                        size_t option_count, int count, char **arguments, int *rest);

/* Calls visit with the command's options, which are valid only during the call; does not run the
 * command. */
typedef void options_visitor(const struct command *command, const struct option *options,
                             size_t option_count, void *context);
void options_visit(const struct command *command, options_visitor *visit, void *context);

/* The program, as described by manual and completions. */
struct tool {
    const struct command *const *commands;
    size_t command_count;
    const struct option *options; /* instead of a command; their values are not used */
    size_t option_count;
};

/* An environment variable: a row of base/environment.def. */
struct environment_variable {
    const char *name, *readers;
    const char *commands; /* that use it, each between spaces; NULL: all; empty: none */
    const char *values, *fallback /* or NULL */, *meaning;
};
extern const struct environment_variable environment_variables[];
extern const size_t environment_count;
/* Writes docs/environment.md. */
bool environment_write(const char *path, struct error *err);

/* kymo --generate, called by the build: writes manual pages and shell completions; returns the exit
 * code. */
int generate(const struct tool *tool, int count, char **arguments);

/* Kinds of words for shell completion. */
enum word_kind { WORD_FREE, WORD_CHOICE, WORD_FILE, WORD_DIRECTORY, WORD_PROFILE, WORD_COMMAND };
/* Derived from the names in capitals: an option's argument, the first operand in the usage. */
enum word_kind value_of(const struct option *option);
enum word_kind operand_of(const struct command *command);
/* Whether the usage begins with words to choose from ("list|unpack FILE"). */
bool has_first_words(const struct command *command);
/* Writes them, with spaces between them. */
void put_first_words(const struct command *command, struct output *out);

/* Names of other tools that Kymo is compatible with, NULL-terminated. */
extern const char *const compat_names[];
/* Commands that are other tools by themselves: a program of the command's name runs it.
 * NULL-terminated. */
extern const char *const compat_commands[];
bool is_compat_command(const char *name);
bool is_compat_name(const char *name); /* of a tool with commands: neuron-profile */

/* Writes kymo.1, kymo-COMMAND.1 and the pages of the compatible names to a directory. */
bool manual_write(const struct tool *tool, const char *directory, struct error *err);
void completion_bash(const struct tool *tool, struct output *out);
void completion_zsh(const struct tool *tool, struct output *out);
void completion_fish(const struct tool *tool, struct output *out);

/* How a command is called: "kymo view", or its own name where the program has that. */
const char *command_title(const struct command *command);
const char *title_of_command(const char *name);
/* "kymo", or the compatible name the program was started as. */
const char *program_name(void);
void program_name_set(const char *path);

/* The child process of sql_task_run; returns the exit code. */
int run_sql_child(void);

/* Prints the tables of a processed profile; returns the exit code. */
int print_profile_schema(void);

/* Flushes standard output; returns the exit code, with a message on failure. */
int finish_printing(void);

/* Prints "did you mean" if one of the candidates is similar to the word. */
void suggest(const char *word, const char *const *candidates, size_t count, const char *prefix);
/* The action of a command that a word names; `count`, after a message, if it names none. */
size_t find_action(const struct command *command, const char *word, const char *const *actions,
                   size_t count);

/* An opened and analyzed capture. */
struct session {
    struct capture capture;
    struct pool *pool;
    struct source *source;
    struct analysis analysis;
};

/* Asks the tables of a profile: one of the workspace, another directory of tables, or temporary
 * tables of a capture. Returns the exit code, with a message on failure. */
struct tables_call {
    const char *place, *data_path;
    const char *query; /* the only one that will be run; NULL: any */
    bool is_directory; /* place is a directory of tables, not to be looked for */
    unsigned long jobs;
    bool (*run)(void *context, struct sql_connection *connection, const char *directory,
                struct error *err);
    void *context;
};
int on_tables(const struct tables_call *call);
/* The same, for commands that write an answer. */
struct profile_call {
    const char *place, *data_path;
    const char *file;  /* output; NULL: standard output */
    const char *query; /* the only one that will be run; NULL: any */
    bool is_directory; /* as above */
    unsigned long jobs;
    bool (*run)(const void *context, struct sql_connection *connection, const char *directory,
                struct output *out, struct error *err);
    const void *context;
};
int on_profile(const struct profile_call *call);
/* Reads a query from standard input, for "-", with a 0 at its end; free it with output_discard. */
bool read_query(struct output *query, struct error *err);
/* Writes the summary of a profile to a file. */
bool write_summary_file(const struct analysis *analysis, const char *path, struct error *err);

/* Which part of a capture to read. */
struct choice {
    struct filter filter;
    enum capture_part part;
    size_t device;               /* for CAPTURE_DEVICE */
    const char *neff;            /* of NTFF files; NULL: found by uuid */
    const char *nki_source_root; /* whose instructions are of NKI kernels; NULL: not known */
    bool tracks_memory;          /* of device profiles */
};
/* Finds the files of the chosen part of a capture, with warnings printed. */
bool choice_find(struct capture *capture, const char *path, const struct choice *choice,
                 struct error *err);

/* On failure prints the error and returns false; nothing needs to be closed. */
bool session_open(struct session *session, const char *path, unsigned long jobs);
bool session_open_chosen(struct session *session, const char *path, unsigned long jobs,
                         const struct choice *choice);
/* Adds the findings of device profiles (NTFF) to those of the capture. */
void session_find_on_devices(struct session *session, const char *nki_source_root);
void session_close(struct session *session);

/* Describes a NEFF or NTFF file on standard output; returns the exit code. */
int print_neff(const char *path, bool json);
int print_ntff(const char *path, bool json);
/* Reports on standard error that an execution failed, or parts of the profile are missing. */
void warn_of_problems(const struct device_analysis *analysis, const char *path);

/* Whether a directory given by an option exists (NULL counts as existing). Prints a message if not.
 */
bool is_source_root(const struct command *command, const char *option, const char *path);

/* Text style for standard output, or for a file if to_file. */
struct text_style style_for(bool to_file, size_t top);

void print_error(const struct error *err);
/* Prints what could not be imported. */
void print_warnings(const struct capture *capture);
/* Reports how many events a capture dropped, if any; called before anything else is printed. */
void warn_of_drops(struct drops drops);
/* Prints what was recovered and what was not; true if everything was. */
bool print_recovered(const recovered_list *list, enum log_level failure);

/* Server options shared by subcommands. */
struct serving {
    unsigned long port, api_port; /* SERVING_DEFAULT_PORT if not given */
    const char *host, *token, *token_file, *source_root, *nki_source_root;
    unsigned long upload_limit_gib;
    unsigned long memory_mib, cpu_s, output_mib; /* limits of processing */
    bool has_no_ui, allows_frames, allows_capture;
    bool is_collective;             /* the profile is shown in the view of several ranks */
    bool is_xprof, forbids_capture; /* of the program xprof */
};
#define SERVING_DEFAULT_PORT ULONG_MAX
#define SERVING_DEFAULTS                                                                           \
    {.port = SERVING_DEFAULT_PORT,                                                                 \
     .api_port = SERVING_DEFAULT_PORT,                                                             \
     .upload_limit_gib = 64,                                                                       \
     .memory_mib = PROCESSING_MEMORY_MIB,                                                          \
     .cpu_s = PROCESSING_CPU_S,                                                                    \
     .output_mib = PROCESSING_OUTPUT_MIB}
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
        {"allow-frames",                                                                           \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         &(serving).allows_frames,                                                                 \
         NULL,                                                                                     \
         "let pages of this machine, such as notebooks, show the UI in a frame",                   \
         NULL},                                                                                    \
        {"allow-capture",                                                                          \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         &(serving).allows_capture,                                                                \
         NULL,                                                                                     \
         "let users start captures that connect to profilers, even on non-loopback addresses",     \
         NULL},                                                                                    \
        {"upload-limit",                                                                           \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(serving).upload_limit_gib,                                                              \
         "GIB",                                                                                    \
         "size limit of all uploads and captures together (default: 64)",                          \
         NULL},                                                                                    \
        {"processing-memory",                                                                      \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(serving).memory_mib,                                                                    \
         "MIB",                                                                                    \
         "memory that processing a capture may take; 0 for no limit (default: 4096)",              \
         NULL},                                                                                    \
        {"processing-cpu",                                                                         \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(serving).cpu_s,                                                                         \
         "SECONDS",                                                                                \
         "CPU time that processing a capture may take; 0 for no limit (default: 21600)",           \
         NULL},                                                                                    \
        {"processing-output",                                                                      \
         0,                                                                                        \
         OPTION_NUMBER,                                                                            \
         &(serving).output_mib,                                                                    \
         "MIB",                                                                                    \
         "how much data processing a capture may write; 0 for no limit (default: 262144)",         \
         NULL},                                                                                    \
    {                                                                                              \
        "framework-source-root", 0, OPTION_TEXT, &(serving).source_root, "DIR",                    \
            "directory of the source files named in stack frames", NULL                            \
    }
/* Validates the values; returns the exit code, with a message on failure. Reads the token from the
 * option, file or environment and hides it from process lists. */
int serving_check(const struct command *command, struct serving *serving);
/* Serves a log directory until a stop signal; data_path may be NULL. */
int serve_logs(const char *directory, const char *data_path, const struct serving *serving);
/* Serves until a stop signal; returns the exit code. profile and logs may be NULL. */
int serving_run(const struct serving *serving, const char *data_path, const char *profile,
                const char *logs);

/* Progress display for long reads, on terminals only. */
struct progress;
/* Also writes progress to a file descriptor: a line with the total percentage whenever it changes.
 */
void progress_set_fd(int fd);
struct progress *progress_start(const struct source *source, const char *what);
void progress_stop(struct progress *progress);

/* From start to stop, Ctrl-C interrupts the connection's query, or is only recorded if connection
 * is NULL. stop and is_pending return whether it was pressed. */
struct interrupt;
struct interrupt *interrupt_start(struct sql_connection *connection);
bool interrupt_is_pending(void *unused);
bool interrupt_stop(struct interrupt *interrupt);

#endif
