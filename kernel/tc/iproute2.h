/* SPDX-License-Identifier: GPL-2.0-only */
/* The interface of tc(8) that plug-ins use, as of iproute2 6.1 to 6.15.
 *
 * tc loads q_NAME.so and looks for NAME_qdisc_util in it; the functions are
 * those that tc itself exports. iproute2 installs no header for them, so they
 * are declared here: the names and types are its interface.
 */
#ifndef GENTLE_TC_IPROUTE2_H
#define GENTLE_TC_IPROUTE2_H

#include <linux/rtnetlink.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* tc/tc_util.h. has_block is the newest member, of 5.19. */
struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt);
	int (*print_xstats)(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats);
	int (*parse_copt)(const struct qdisc_util *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_copt)(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt);
	int (*has_block)(const struct qdisc_util *qu, struct rtattr *opt,
			 __u32 block_idx, bool *p_has);
};

int get_size(unsigned int *size, const char *str);
int get_rate(unsigned int *rate, const char *str);	/* bytes per second */

/* include/utils.h */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof(*(array)))
#define NEXT_ARG()				\
	do {					\
		argv++;				\
		if (--argc <= 0)		\
			incomplete_command();	\
	} while (0)

void incomplete_command(void) __attribute__((noreturn));
int get_u32(__u32 *val, const char *arg, int base);
int get_unsigned(unsigned int *val, const char *arg, int base);
int get_time64(__s64 *time, const char *str);	/* ns */

/* include/libnetlink.h */
int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen);
int addattr32(struct nlmsghdr *n, int maxlen, int type, __u32 data);
struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type);
int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);
int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta,
		       int len, unsigned short flags);

#define parse_rtattr_nested(tb, max, nest)				\
	parse_rtattr_flags(tb, max, RTA_DATA(nest), RTA_PAYLOAD(nest),	\
			   NLA_F_NESTED)

static inline __u32 rta_getattr_u32(const struct rtattr *rta)
{
	return *(__u32 *)RTA_DATA(rta);
}

static inline __u64 rta_getattr_u64(const struct rtattr *rta)
{
	__u64 value;

	memcpy(&value, RTA_DATA(rta), sizeof(value));
	return value;
}

/* include/color.h: the last of enum color_attr, for no colour. */
#define COLOR_NONE 6

/* include/json_print.h */
enum output_type {
	PRINT_FP = 1,
	PRINT_JSON = 2,
	PRINT_ANY = 4,
};

void open_json_object(const char *str);
void close_json_object(void);
void open_json_array(enum output_type type, const char *str);
void close_json_array(enum output_type type, const char *delim);
int print_color_uint(enum output_type t, int color, const char *key,
		     const char *fmt, unsigned int value);
int print_color_int(enum output_type t, int color, const char *key,
		    const char *fmt, int value);
int print_color_u64(enum output_type t, int color, const char *key,
		    const char *fmt, uint64_t value);
int print_color_s64(enum output_type t, int color, const char *key,
		    const char *fmt, int64_t value);
int print_color_string(enum output_type t, int color, const char *key,
		       const char *fmt, const char *value);
int print_color_bool(enum output_type t, int color, const char *key,
		     const char *fmt, bool value);
void print_nl(void);

#define print_uint(t, key, fmt, v) print_color_uint(t, COLOR_NONE, key, fmt, v)
#define print_int(t, key, fmt, v) print_color_int(t, COLOR_NONE, key, fmt, v)
#define print_u64(t, key, fmt, v) print_color_u64(t, COLOR_NONE, key, fmt, v)
#define print_s64(t, key, fmt, v) print_color_s64(t, COLOR_NONE, key, fmt, v)
#define print_string(t, key, fmt, v) \
	print_color_string(t, COLOR_NONE, key, fmt, v)
#define print_bool(t, key, fmt, v) print_color_bool(t, COLOR_NONE, key, fmt, v)

#endif
