/*
 * Assigns the lanes of a profile to the tracks of an exported timeline. Two levels of groups, each
 * defined by fields the user chooses; lanes equal in all fields of a level share a track.
 */
#ifndef KYMO_EXPORT_GROUPS_H
#define KYMO_EXPORT_GROUPS_H

#include "export/export.h"

struct group {
    uint32_t parent; /* secondary groups: index of the primary one */
    char *label;
};

typedef ARRAY(struct group) group_list;

struct groups {
    group_list primary, secondary;
    uint32_t *of_lane; /* by track: index of its secondary group */
};

void groups_make(struct groups *groups, const struct catalog *catalog,
                 const struct group_fields *primary, const struct group_fields *secondary);
void groups_free(struct groups *groups);

#endif
