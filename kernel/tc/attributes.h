/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of the plug-ins: netlink attributes and common option values. */
#ifndef GENTLE_TC_ATTRIBUTES_H
#define GENTLE_TC_ATTRIBUTES_H

#include <stdlib.h>
#include <string.h>

#include "iproute2.h"

/* Room in the request, as tc's own qdiscs allow. */
#define MAX_MSG 1024

static inline int put_u32(struct nlmsghdr *n, int attr, __u32 value)
{
	return addattr_l(n, MAX_MSG, attr, &value, sizeof(value));
}

/* A module of another version may send a structure or a counter of another
 * size: missing bytes are zero, further bytes are ignored.
 */
static inline void copy_attr(void *to, size_t size, const struct rtattr *attr)
{
	size_t payload = RTA_PAYLOAD(attr);

	memset(to, 0, size);
	memcpy(to, RTA_DATA(attr), payload < size ? payload : size);
}

static inline __u32 get_u32_attr(const struct rtattr *attr)
{
	__u32 value;

	copy_attr(&value, sizeof(value), attr);
	return value;
}

static inline __u64 get_u64_attr(const struct rtattr *attr)
{
	__u64 value;

	copy_attr(&value, sizeof(value), attr);
	return value;
}

static inline void print_u32_attr(const struct rtattr *attr, const char *key,
				  const char *format)
{
	if (attr)
		print_uint(PRINT_ANY, key, format, get_u32_attr(attr));
}

/* Reports an invalid value; returns -1. */
static inline int expected(const char *qdisc, const char *option,
			   const char *what, const char *got)
{
	fprintf(stderr, "%s: %s: expected %s, not \"%s\"\n", qdisc, option,
		what, got);
	return -1;
}

/* Parses a percentage, 1 to 100, such as "25" or "25%". */
static inline bool read_percent(unsigned int *value, const char *arg)
{
	char *end;
	long percent = strtol(arg, &end, 10);

	if (end == arg || (*end && strcmp(end, "%")) || percent < 1 ||
	    percent > 100)
		return false;
	*value = percent;
	return true;
}

#endif
