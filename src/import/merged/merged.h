/*
 * Several sources as one: the files of a program's framework, its runtime and its recorder, each in
 * its own format, on one clock.
 */
#ifndef KYMO_IMPORT_MERGED_MERGED_H
#define KYMO_IMPORT_MERGED_MERGED_H

#include "model/model.h"

typedef ARRAY(struct source *) source_list;

/* Closes parts that are the same capture as an earlier one, and those of another time, which would
 * only be far apart on one timeline; the first part gets a message about each. */
void merged_leave_out(source_list *parts);

/* Takes ownership of the parts; the list is empty afterward. One part stays as it is. The caller
 * closes the result. */
struct source *merged_open(source_list *parts);

#endif
