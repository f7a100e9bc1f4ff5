// SPDX-License-Identifier: GPL-2.0-only
/* gentle: FQ-CoDel in which young flows go first */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iproute2.h"
#include "pkt_sch_gentle.h"

/* enum gentle_hosts */
static const char *const hosts_names[] = { "none", "src", "dst" };

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... gentle [ limit PACKETS ] [ flows NUMBER ]\n"
		"                  [ target TIME ] [ interval TIME ]\n"
		"                  [ memory_limit BYTES ] [ ecn | noecn ]\n"
		"                  [ hosts { none | src | dst } ]\n");
}

static int illegal(const char *option, const char *expected, const char *arg)
{
	fprintf(stderr, "gentle: %s: expected %s, not \"%s\"\n", option,
		expected, arg);
	return -1;
}

static int get_us(__u32 *us, const char *arg)
{
	__s64 ns;

	if (get_time64(&ns, arg) || ns < 0 || ns / 1000 > UINT32_MAX)
		return -1;
	*us = ns / 1000;
	return 0;
}

static int get_hosts(__u32 *hosts, const char *arg)
{
	for (*hosts = 0; *hosts < ARRAY_SIZE(hosts_names); ++*hosts)
		if (!strcmp(arg, hosts_names[*hosts]))
			return 0;
	return -1;
}

static int gentle_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			    struct nlmsghdr *n, const char *dev)
{
	struct rtattr *tail;
	__u32 value;

	tail = addattr_nest(n, 1024, TCA_OPTIONS | NLA_F_NESTED);
	while (argc > 0) {
		if (strcmp(*argv, "limit") == 0) {
			NEXT_ARG();
			if (get_u32(&value, *argv, 10) || !value)
				return illegal("limit", "a number of packets",
					       *argv);
			addattr32(n, 1024, TCA_GENTLE_LIMIT, value);
		} else if (strcmp(*argv, "flows") == 0) {
			NEXT_ARG();
			if (get_u32(&value, *argv, 10) || value < 8 ||
			    value > 32768)
				return illegal("flows", "8 to 32768", *argv);
			addattr32(n, 1024, TCA_GENTLE_FLOWS, value);
		} else if (strcmp(*argv, "target") == 0) {
			NEXT_ARG();
			if (get_us(&value, *argv))
				return illegal("target", "a time", *argv);
			addattr32(n, 1024, TCA_GENTLE_TARGET, value);
		} else if (strcmp(*argv, "interval") == 0) {
			NEXT_ARG();
			if (get_us(&value, *argv))
				return illegal("interval", "a time", *argv);
			addattr32(n, 1024, TCA_GENTLE_INTERVAL, value);
		} else if (strcmp(*argv, "memory_limit") == 0) {
			NEXT_ARG();
			if (**argv == '-' || get_size(&value, *argv) ||
			    value > 1U << 31)
				return illegal("memory_limit",
					       "a size of up to 2gb", *argv);
			addattr32(n, 1024, TCA_GENTLE_MEMORY_LIMIT, value);
		} else if (strcmp(*argv, "ecn") == 0) {
			addattr32(n, 1024, TCA_GENTLE_ECN, 1);
		} else if (strcmp(*argv, "noecn") == 0) {
			addattr32(n, 1024, TCA_GENTLE_ECN, 0);
		} else if (strcmp(*argv, "hosts") == 0) {
			NEXT_ARG();
			if (get_hosts(&value, *argv))
				return illegal("hosts", "none, src or dst",
					       *argv);
			addattr32(n, 1024, TCA_GENTLE_HOSTS, value);
		} else if (strcmp(*argv, "help") == 0) {
			explain();
			return -1;
		} else {
			fprintf(stderr, "What is \"%s\"?\n", *argv);
			explain();
			return -1;
		}
		argc--; argv++;
	}
	addattr_nest_end(n, tail);
	return 0;
}

static int gentle_print_opt(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *opt)
{
	struct rtattr *tb[TCA_GENTLE_MAX + 1];

	if (!opt)
		return 0;
	parse_rtattr_nested(tb, TCA_GENTLE_MAX, opt);

	if (tb[TCA_GENTLE_LIMIT])
		print_uint(PRINT_ANY, "limit", "limit %up ",
			   rta_getattr_u32(tb[TCA_GENTLE_LIMIT]));
	if (tb[TCA_GENTLE_FLOWS])
		print_uint(PRINT_ANY, "flows", "flows %u ",
			   rta_getattr_u32(tb[TCA_GENTLE_FLOWS]));
	if (tb[TCA_GENTLE_TARGET])
		print_uint(PRINT_ANY, "target", "target %uus ",
			   rta_getattr_u32(tb[TCA_GENTLE_TARGET]));
	if (tb[TCA_GENTLE_INTERVAL])
		print_uint(PRINT_ANY, "interval", "interval %uus ",
			   rta_getattr_u32(tb[TCA_GENTLE_INTERVAL]));
	if (tb[TCA_GENTLE_MEMORY_LIMIT])
		print_uint(PRINT_ANY, "memory_limit", "memory_limit %ub ",
			   rta_getattr_u32(tb[TCA_GENTLE_MEMORY_LIMIT]));
	if (tb[TCA_GENTLE_ECN]) {
		bool ecn = rta_getattr_u32(tb[TCA_GENTLE_ECN]);

		print_bool(PRINT_JSON, "ecn", NULL, ecn);
		print_string(PRINT_FP, NULL, "%s ", ecn ? "ecn" : "noecn");
	}
	if (tb[TCA_GENTLE_HOSTS]) {
		__u32 hosts = rta_getattr_u32(tb[TCA_GENTLE_HOSTS]);

		print_string(PRINT_ANY, "hosts", "hosts %s ",
			     hosts < ARRAY_SIZE(hosts_names) ?
				     hosts_names[hosts] : "unknown");
	}
	return 0;
}

static int gentle_print_xstats(const struct qdisc_util *qu, FILE *f,
			       struct rtattr *xstats)
{
	struct rtattr *tb[TCA_GENTLE_XSTATS_MAX + 1];

	if (!xstats)
		return 0;
	parse_rtattr_nested(tb, TCA_GENTLE_XSTATS_MAX, xstats);

	if (tb[TCA_GENTLE_XSTATS_DROP_OVERLIMIT])
		print_u64(PRINT_ANY, "drop_overlimit", "  drop_overlimit %llu",
			  rta_getattr_u64(tb[TCA_GENTLE_XSTATS_DROP_OVERLIMIT]));
	if (tb[TCA_GENTLE_XSTATS_ECN_MARK])
		print_u64(PRINT_ANY, "ecn_mark", " ecn_mark %llu",
			  rta_getattr_u64(tb[TCA_GENTLE_XSTATS_ECN_MARK]));
	if (tb[TCA_GENTLE_XSTATS_FLOWS])
		print_uint(PRINT_ANY, "flows_len", " flows_len %u",
			   rta_getattr_u32(tb[TCA_GENTLE_XSTATS_FLOWS]));
	if (tb[TCA_GENTLE_XSTATS_YOUNG_LEVELS])
		print_uint(PRINT_ANY, "young_levels", " young_levels %u",
			   rta_getattr_u32(tb[TCA_GENTLE_XSTATS_YOUNG_LEVELS]));
	if (tb[TCA_GENTLE_XSTATS_MEMORY_USAGE])
		print_uint(PRINT_ANY, "memory_used", " memory_used %u",
			   rta_getattr_u32(tb[TCA_GENTLE_XSTATS_MEMORY_USAGE]));
	if (tb[TCA_GENTLE_XSTATS_DEBT])
		print_uint(PRINT_ANY, "debt", " debt %uus",
			   rta_getattr_u32(tb[TCA_GENTLE_XSTATS_DEBT]));
	return 0;
}

struct qdisc_util gentle_qdisc_util = {
	.id		= "gentle",
	.parse_qopt	= gentle_parse_opt,
	.print_qopt	= gentle_print_opt,
	.print_xstats	= gentle_print_xstats,
};
