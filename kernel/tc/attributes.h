/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of the plug-ins: netlink attributes and common option values. */
#ifndef GENTLE_TC_ATTRIBUTES_H
#define GENTLE_TC_ATTRIBUTES_H

#include <stdlib.h>
#include <string.h>

#include "iproute2.h"

/* Room in the request, as tc's own qdiscs allow. */
#define MAX_MSG 1024

static inline int put_u8(struct nlmsghdr *n, int attr, __u8 value)
{
	return addattr_l(n, MAX_MSG, attr, &value, sizeof(value));
}

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

/* An option or a counter, which a module of another version may lack. */
static inline void print_u32_attr(const struct rtattr *attr, const char *key,
				  const char *format)
{
	if (attr)
		print_uint(PRINT_ANY, key, format, get_u32_attr(attr));
}

static inline void print_u64_attr(const struct rtattr *attr, const char *key,
				  const char *format)
{
	if (attr)
		print_u64(PRINT_ANY, key, format, get_u64_attr(attr));
}

/* Reports an invalid value; returns -1. */
static inline int expected(const char *qdisc, const char *option,
			   const char *what, const char *got)
{
	fprintf(stderr, "%s: %s: expected %s, not \"%s\"\n", qdisc, option,
		what, got);
	return -1;
}

/* Reads the option argv[0]. Returns the number of words that it consists of, 0
 * if there is no such option, or -1 after a message.
 */
typedef int read_option(void *to, int argc, char **argv);

/* For read_option: the number of words of an option and its value, of which
 * read_option has made err: 1 if no option has this name, or -1.
 */
static inline int with_value(int err)
{
	return err == 1 ? 0 : err ? -1 : 2;
}

/* Reads all options of a qdisc. Returns 0, or -1 after a message. */
static inline int read_options(const char *qdisc, int argc, char **argv,
			       read_option *read, void *to,
			       void (*explain)(void))
{
	int used;

	for (; argc > 0; argc -= used, argv += used) {
		if (!strcmp(*argv, "help")) {
			explain();
			return -1;
		}
		used = read(to, argc, argv);
		if (!used) {
			fprintf(stderr, "%s: no option \"%s\"\n", qdisc, *argv);
			explain();
		}
		if (used <= 0)
			return -1;
	}
	return 0;
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
