// SPDX-License-Identifier: GPL-2.0-only
/* Plug-in of tc(8) for the qdisc dualpi2 of Linux 6.17 and later, for a tc that
 * does not support it: iproute2 has it since 6.17. Options are as in
 * tc-dualpi2(8), without max_rtt and typical_rtt.
 */

#include <string.h>

#include "attributes.h"
#include "iproute2.h"

/* linux/pkt_sched.h since Linux 6.17 */
enum {
	DUALPI2_LIMIT = 1,
	DUALPI2_MEMORY_LIMIT,
	DUALPI2_TARGET,		/* us */
	DUALPI2_TUPDATE,	/* us */
	DUALPI2_ALPHA,		/* 1/256 Hz */
	DUALPI2_BETA,
	DUALPI2_STEP_THRESH_PKTS,
	DUALPI2_STEP_THRESH_US,
	DUALPI2_MIN_QLEN_STEP,
	DUALPI2_COUPLING,
	DUALPI2_DROP_OVERLOAD,
	DUALPI2_DROP_EARLY,
	DUALPI2_C_PROTECTION,
	DUALPI2_ECN_MASK,
	DUALPI2_SPLIT_GSO,
	DUALPI2_MAX = DUALPI2_SPLIT_GSO,
};

#define ECN_MASK_L4S	1
#define ECN_MASK_ANY	3

struct dualpi2_xstats {
	__u32 prob;
	__u32 delay_c;
	__u32 delay_l;
	__u32 packets_in_c;
	__u32 packets_in_l;
	__u32 maxq;
	__u32 ecn_mark;
	__u32 step_marks;
	__s32 credit;
	__u32 memory_used;
	__u32 max_memory_used;
	__u32 memory_limit;
};

/* Words without a value. */
static const struct {
	const char *word;
	int attr;
	__u8 value;
} words[] = {
	{ "overflow", DUALPI2_DROP_OVERLOAD, 0 },
	{ "drop_on_overload", DUALPI2_DROP_OVERLOAD, 1 },
	{ "drop_dequeue", DUALPI2_DROP_EARLY, 0 },
	{ "drop_enqueue", DUALPI2_DROP_EARLY, 1 },
	{ "l4s_ect", DUALPI2_ECN_MASK, ECN_MASK_L4S },
	{ "any_ect", DUALPI2_ECN_MASK, ECN_MASK_ANY },
	{ "no_split_gso", DUALPI2_SPLIT_GSO, 0 },
	{ "split_gso", DUALPI2_SPLIT_GSO, 1 },
};

#define WORDS ((int)(sizeof(words) / sizeof(words[0])))

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... dualpi2 [ limit PACKETS ] [ memlimit BYTES ]\n"
		"                   [ coupling_factor NUMBER ]\n"
		"                   [ step_thresh TIME|PACKETSp ]\n"
		"                   [ min_qlen_step PACKETS ]\n"
		"                   [ drop_on_overload | overflow ]\n"
		"                   [ drop_enqueue | drop_dequeue ]\n"
		"                   [ l4s_ect | any_ect ]\n"
		"                   [ classic_protection PERCENTAGE ]\n"
		"                   [ target TIME ] [ tupdate TIME ]\n"
		"                   [ alpha HERTZ ] [ beta HERTZ ]\n"
		"                   [ split_gso | no_split_gso ]\n");
}

static int put_number(struct nlmsghdr *n, int attr, const char *option,
		      const char *arg)
{
	unsigned int value;

	if (*arg == '-' || get_unsigned(&value, arg, 10))
		return expected("dualpi2", option, "a whole number", arg);
	return put_u32(n, attr, value);
}

static int put_small(struct nlmsghdr *n, int attr, const char *option,
		     const char *arg, unsigned int max)
{
	unsigned int value;

	if (*arg == '-' || get_unsigned(&value, arg, 10) || value > max)
		return expected("dualpi2", option,
				max == 100 ? "a percentage, 0 to 100" :
					     "a whole number, 1 to 255", arg);
	return put_u8(n, attr, value);
}

static bool read_us(__u32 *us, const char *arg)
{
	__s64 ns;

	if (get_time64(&ns, arg) || ns < 0 || ns / 1000 > UINT32_MAX)
		return false;
	*us = ns / 1000;
	return true;
}

static int put_time(struct nlmsghdr *n, int attr, const char *option,
		    const char *arg)
{
	__u32 us;

	if (!read_us(&us, arg))
		return expected("dualpi2", option, "a time", arg);
	return put_u32(n, attr, us);
}

static int put_weight(struct nlmsghdr *n, int attr, const char *option,
		      const char *arg)
{
	char *end;
	float hertz = strtof(arg, &end);

	if (end == arg || *end || !(hertz >= 1.0f / 256 && hertz < 8388608.0f))
		return expected("dualpi2", option,
				"hertz, 0.00390625 to 8388607", arg);
	return put_u32(n, attr, (__u32)(hertz * 256));
}

static int put_step(struct nlmsghdr *n, const char *arg)
{
	size_t len = strlen(arg);
	char digits[16];
	unsigned int packets;
	__u32 us;

	if (len > 1 && len <= sizeof(digits) && arg[len - 1] == 'p') {
		snprintf(digits, sizeof(digits), "%.*s", (int)(len - 1), arg);
		if (!get_unsigned(&packets, digits, 10))
			return put_u32(n, DUALPI2_STEP_THRESH_PKTS, packets);
	} else if (read_us(&us, arg)) {
		return put_u32(n, DUALPI2_STEP_THRESH_US, us);
	}
	return expected("dualpi2", "step_thresh",
			"a time (1ms) or packets (5p)", arg);
}

/* Returns 1 if no option has this name. */
static int put_option(struct nlmsghdr *n, const char *option, const char *arg)
{
	if (!strcmp(option, "limit"))
		return put_number(n, DUALPI2_LIMIT, option, arg);
	if (!strcmp(option, "memlimit"))
		return put_number(n, DUALPI2_MEMORY_LIMIT, option, arg);
	if (!strcmp(option, "min_qlen_step"))
		return put_number(n, DUALPI2_MIN_QLEN_STEP, option, arg);
	if (!strcmp(option, "coupling_factor"))
		return put_small(n, DUALPI2_COUPLING, option, arg, 255);
	if (!strcmp(option, "classic_protection"))
		return put_small(n, DUALPI2_C_PROTECTION, option, arg, 100);
	if (!strcmp(option, "step_thresh"))
		return put_step(n, arg);
	if (!strcmp(option, "target"))
		return put_time(n, DUALPI2_TARGET, option, arg);
	if (!strcmp(option, "tupdate"))
		return put_time(n, DUALPI2_TUPDATE, option, arg);
	if (!strcmp(option, "alpha"))
		return put_weight(n, DUALPI2_ALPHA, option, arg);
	if (!strcmp(option, "beta"))
		return put_weight(n, DUALPI2_BETA, option, arg);
	return 1;
}

static int dualpi2_option(void *n, int argc, char **argv)
{
	int i;

	for (i = 0; i < WORDS; i++)
		if (!strcmp(*argv, words[i].word))
			return put_u8(n, words[i].attr, words[i].value) ? -1 : 1;
	return with_value(put_option(n, argv[0], argc > 1 ? argv[1] : ""));
}

static int dualpi2_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			     struct nlmsghdr *n, const char *dev)
{
	struct rtattr *opts;

	opts = addattr_nest(n, MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	if (read_options("dualpi2", argc, argv, dualpi2_option, n, explain))
		return -1;
	addattr_nest_end(n, opts);
	return 0;
}

static int dualpi2_print_opt(const struct qdisc_util *qu, FILE *f,
			     struct rtattr *opt)
{
	struct rtattr *tb[DUALPI2_MAX + 1];
	int i;

	if (!opt)
		return 0;
	parse_rtattr_flags(tb, DUALPI2_MAX, RTA_DATA(opt), RTA_PAYLOAD(opt),
			   NLA_F_NESTED);

	print_u32_attr(tb[DUALPI2_LIMIT], "limit", "limit %up ");
	print_u32_attr(tb[DUALPI2_MEMORY_LIMIT], "memory-limit",
		       "memlimit %uB ");
	print_u32_attr(tb[DUALPI2_TARGET], "target", "target %uus ");
	print_u32_attr(tb[DUALPI2_TUPDATE], "tupdate", "tupdate %uus ");
	print_u32_attr(tb[DUALPI2_ALPHA], "alpha-256th-hz", "alpha %u/256Hz ");
	print_u32_attr(tb[DUALPI2_BETA], "beta-256th-hz", "beta %u/256Hz ");
	print_u32_attr(tb[DUALPI2_STEP_THRESH_PKTS], "step-thresh-pkts",
		       "step_thresh %up ");
	print_u32_attr(tb[DUALPI2_STEP_THRESH_US], "step-thresh-us",
		       "step_thresh %uus ");
	print_u32_attr(tb[DUALPI2_MIN_QLEN_STEP], "min-qlen-step",
		       "min_qlen_step %up ");
	/* Missing bytes of an attribute are read as zero. */
	print_u32_attr(tb[DUALPI2_COUPLING], "coupling", "coupling_factor %u ");
	print_u32_attr(tb[DUALPI2_C_PROTECTION], "c-protection",
		       "classic_protection %u%% ");
	for (i = 0; i < WORDS; i++)
		if (tb[words[i].attr] &&
		    get_u32_attr(tb[words[i].attr]) == words[i].value)
			print_string(PRINT_FP, NULL, "%s ", words[i].word);
	return 0;
}

static int dualpi2_print_xstats(const struct qdisc_util *qu, FILE *f,
				struct rtattr *xstats)
{
	struct dualpi2_xstats st;

	if (!xstats)
		return 0;
	copy_attr(&st, sizeof(st), xstats);

	print_uint(PRINT_ANY, "prob-32nd-power", "  prob %u/2^32 ", st.prob);
	print_uint(PRINT_ANY, "delay-c", "delay_c %uus ", st.delay_c);
	print_uint(PRINT_ANY, "delay-l", "delay_l %uus", st.delay_l);
	print_nl();
	print_uint(PRINT_ANY, "pkts-in-c", "  pkts_in_c %u ", st.packets_in_c);
	print_uint(PRINT_ANY, "pkts-in-l", "pkts_in_l %u ", st.packets_in_l);
	print_uint(PRINT_ANY, "maxq", "maxq %u ", st.maxq);
	print_uint(PRINT_ANY, "ecn-mark", "ecn_mark %u ", st.ecn_mark);
	print_uint(PRINT_ANY, "step-mark", "step_mark %u", st.step_marks);
	print_nl();
	print_int(PRINT_ANY, "credit", "  credit %d ", st.credit);
	print_uint(PRINT_ANY, "memory-used", "memory_used %u ", st.memory_used);
	print_uint(PRINT_ANY, "max-memory-used", "(max %u) ",
		   st.max_memory_used);
	print_uint(PRINT_ANY, "memory-limit", "of memory limit %u",
		   st.memory_limit);
	return 0;
}

struct qdisc_util dualpi2_qdisc_util = {
	.id = "dualpi2",
	.parse_qopt = dualpi2_parse_opt,
	.print_qopt = dualpi2_print_opt,
	.print_xstats = dualpi2_print_xstats,
};
