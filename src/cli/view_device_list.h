/*
 * kymo view: the device profiles of a capture.
 */
#ifndef KYMO_CLI_VIEW_DEVICE_LIST_H
#define KYMO_CLI_VIEW_DEVICE_LIST_H

#include "cli/view_options.h"

struct device_list {
    ARRAY(struct json_device) items;
    ARRAY(char *) texts; /* of the items */
};

/* Adds the profile of an NTFF file, under the name of the document that is made of it. */
void device_list_add(struct device_list *list, const struct capture_file *file, const char *name);
void device_list_free(struct device_list *list);

#endif
