/*
 * record: captures what a program does. The in-process part is libkymo, whose face is
 * include/kymo/kymo.h; this header is for the tools that find what it left behind. ring.h describes
 * the files of a running capture, schema/ those of a finished one.
 */
#ifndef KYMO_RECORD_H
#define KYMO_RECORD_H

#include "base/base.h"
#include "record/ring.h"

#define RECORD_RINGS "rings" /* where the files of a capture are that was not ended */

/* Whether a session's directory has rings of a capture that was not ended. */
bool record_is_left_over(const char *directory);

/* Turns them into session files and removes them. Refuses while their program runs. What is in the
 * rings is not trusted. */
bool record_recover(const char *directory, struct error *err);

#endif
