/*
 * Log: lines like `INFO[0000] message` on standard error, the number being seconds since start.
 * Only the command line and the server log; everything below returns errors instead.
 */
#ifndef KYMO_BASE_LOG_H
#define KYMO_BASE_LOG_H

enum log_level { LOG_FATAL, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Lines above this level are dropped; the default is LOG_INFO. */
void log_set_level(enum log_level level);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_fatal(...) log_line(LOG_FATAL, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
