/*
 * With KYMO_HLO=1, XLA writes the programs it compiles into the session's directory.
 */
#ifndef KYMO_CAPTURE_RECORDER_XLA_DUMP_H
#define KYMO_CAPTURE_RECORDER_XLA_DUMP_H

/* Adds to XLA_FLAGS, before the program reads them, that programs go to hlo/ in the directory. A
 * dump that the user asked for stays where it is. */
void xla_dump_request(const char *session);

#endif
