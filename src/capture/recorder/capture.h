/*
 * Control of the capture, as used by the other parts of the recorder.
 */
#ifndef KYMO_CAPTURE_RECORDER_CAPTURE_H
#define KYMO_CAPTURE_RECORDER_CAPTURE_H

#include "base/base.h"

/* Begins the capture that a child of fork inherits from its parent, with the first event it
 * records; does nothing otherwise. */
void capture_resume(void);

/* A new capture begins. */
void capture_may_complain(void);
/* One line on standard error, the first time in each capture. */
void capture_complain(const struct error *err);
/* The same, every time. */
void capture_warn(const struct error *err);

#endif
