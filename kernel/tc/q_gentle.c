// SPDX-License-Identifier: GPL-2.0-only
/* Plug-in of tc(8) for the qdisc gentle. */

#include <string.h>

#include "attributes.h"
#include "iproute2.h"
#include "pkt_sch_gentle.h"

/* enum gentle_hosts */
static const char *const hosts_words[] = { "none", "src", "dst" };
#define HOSTS_WORDS (sizeof(hosts_words) / sizeof(*hosts_words))

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... gentle [ limit PACKETS ] [ flows NUMBER ]\n"
		"                  [ target TIME ] [ interval TIME ]\n"
		"                  [ memory_limit BYTES ] [ ecn | noecn ]\n"
		"                  [ hosts { none | src | dst } ]\n");
}

static int put_number(struct nlmsghdr *n, int attr, const char *option,
		      const char *arg, unsigned int min, unsigned int max)
{
	unsigned int value;
	char what[64];

	if (*arg != '-' && !get_unsigned(&value, arg, 10) && value >= min &&
	    value <= max)
		return put_u32(n, attr, value);
	snprintf(what, sizeof(what), "a whole number, %u to %u", min, max);
	return expected("gentle", option, what, arg);
}

static int put_bytes(struct nlmsghdr *n, int attr, const char *option,
		     const char *arg, unsigned int min, unsigned int max)
{
	unsigned int value;
	char what[64];

	if (*arg != '-' && !get_size(&value, arg) && value >= min &&
	    value <= max)
		return put_u32(n, attr, value);
	snprintf(what, sizeof(what), "a size, %u to %u bytes", min, max);
	return expected("gentle", option, what, arg);
}

static int put_time(struct nlmsghdr *n, int attr, const char *option,
		    const char *arg)
{
	__s64 ns;

	if (!get_time64(&ns, arg) && ns >= 0 && ns / 1000 <= (__u32)-1)
		return put_u32(n, attr, ns / 1000);
	return expected("gentle", option, "a time", arg);
}

static int put_hosts(struct nlmsghdr *n, const char *arg)
{
	for (unsigned int i = 0; i < HOSTS_WORDS; i++)
		if (!strcmp(arg, hosts_words[i]))
			return put_u32(n, TCA_GENTLE_HOSTS, i);
	return expected("gentle", "hosts", "none, src or dst", arg);
}

/* Returns 1 if no option has this name. */
static int put_option(struct nlmsghdr *n, const char *option, const char *arg)
{
	if (!strcmp(option, "limit"))
		return put_number(n, TCA_GENTLE_LIMIT, option, arg, 1, -1U);
	if (!strcmp(option, "flows"))
		return put_number(n, TCA_GENTLE_FLOWS, option, arg, 8, 32768);
	if (!strcmp(option, "target"))
		return put_time(n, TCA_GENTLE_TARGET, option, arg);
	if (!strcmp(option, "interval"))
		return put_time(n, TCA_GENTLE_INTERVAL, option, arg);
	if (!strcmp(option, "memory_limit"))
		return put_bytes(n, TCA_GENTLE_MEMORY_LIMIT, option, arg, 0,
				 1U << 31);
	if (!strcmp(option, "hosts"))
		return put_hosts(n, arg);
	return 1;
}

static int gentle_option(void *n, int argc, char **argv)
{
	if (!strcmp(argv[0], "ecn") || !strcmp(argv[0], "noecn"))
		return put_u32(n, TCA_GENTLE_ECN, *argv[0] == 'e') ? -1 : 1;
	return with_value(put_option(n, argv[0], argc > 1 ? argv[1] : ""));
}

static int gentle_parse_opt(struct qdisc_util *qu, int argc, char **argv,
			    struct nlmsghdr *n, const char *dev)
{
	struct rtattr *opts;

	(void)qu;
	(void)dev;
	opts = addattr_nest(n, MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	if (read_options("gentle", argc, argv, gentle_option, n, explain))
		return -1;
	addattr_nest_end(n, opts);
	return 0;
}

static int gentle_print_opt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[TCA_GENTLE_MAX + 1];

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	parse_rtattr_flags(tb, TCA_GENTLE_MAX, RTA_DATA(opt), RTA_PAYLOAD(opt),
			   NLA_F_NESTED);

	print_u32_attr(tb[TCA_GENTLE_LIMIT], "limit", "limit %up ");
	print_u32_attr(tb[TCA_GENTLE_FLOWS], "flows", "flows %u ");
	print_u32_attr(tb[TCA_GENTLE_TARGET], "target", "target %uus ");
	print_u32_attr(tb[TCA_GENTLE_INTERVAL], "interval", "interval %uus ");
	print_u32_attr(tb[TCA_GENTLE_MEMORY_LIMIT], "memory_limit",
		       "memory_limit %ub ");
	if (tb[TCA_GENTLE_ECN]) {
		bool ecn = get_u32_attr(tb[TCA_GENTLE_ECN]);

		print_bool(PRINT_JSON, "ecn", NULL, ecn);
		print_string(PRINT_FP, NULL, "%s ", ecn ? "ecn" : "noecn");
	}
	if (tb[TCA_GENTLE_HOSTS]) {
		__u32 hosts = get_u32_attr(tb[TCA_GENTLE_HOSTS]);

		print_string(PRINT_ANY, "hosts", "hosts %s ",
			     hosts < HOSTS_WORDS ? hosts_words[hosts] : "?");
	}
	return 0;
}

static int gentle_print_xstats(struct qdisc_util *qu, FILE *f,
			       struct rtattr *xstats)
{
	struct rtattr *tb[TCA_GENTLE_XSTATS_MAX + 1];

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	parse_rtattr_flags(tb, TCA_GENTLE_XSTATS_MAX, RTA_DATA(xstats),
			   RTA_PAYLOAD(xstats), NLA_F_NESTED);

	print_u64_attr(tb[TCA_GENTLE_XSTATS_DROP_OVERLIMIT], "drop_overlimit",
		       "  drop_overlimit %llu");
	print_u64_attr(tb[TCA_GENTLE_XSTATS_ECN_MARK], "ecn_mark",
		       " ecn_mark %llu");
	print_u32_attr(tb[TCA_GENTLE_XSTATS_FLOWS], "flows_len",
		       " flows_len %u");
	print_u32_attr(tb[TCA_GENTLE_XSTATS_YOUNG_LEVELS], "young_levels",
		       " young_levels %u");
	print_u32_attr(tb[TCA_GENTLE_XSTATS_MEMORY_USAGE], "memory_used",
		       " memory_used %u");
	print_u32_attr(tb[TCA_GENTLE_XSTATS_DEBT], "debt", " debt %uus");
	return 0;
}

struct qdisc_util gentle_qdisc_util = {
	.id = "gentle",
	.parse_qopt = gentle_parse_opt,
	.print_qopt = gentle_print_opt,
	.print_xstats = gentle_print_xstats,
};
