// SPDX-License-Identifier: GPL-2.0-only
/* Plug-in of tc(8) for the qdisc spa. */

#include <string.h>

#include "attributes.h"
#include "iproute2.h"
#include "pkt_sch_spa.h"

#define MAXLEN_MAX 65535

static const char *const fin_names[] = {
	[TC_SPA_FIN_NONE] = "none",
	[TC_SPA_FIN_PRIORITY] = "priority",
};

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... spa [ fin { none | priority } ] [ maxlen BYTES ]\n"
		"               [ share PERCENT ]\n");
}

static int put_fin(struct nlmsghdr *n, const char *arg)
{
	int i;

	for (i = 0; i <= TC_SPA_FIN_MAX; i++)
		if (!strcmp(arg, fin_names[i]))
			return put_u32(n, TCA_SPA_FIN, i);
	return expected("spa", "fin", "none or priority", arg);
}

static int put_maxlen(struct nlmsghdr *n, const char *arg)
{
	unsigned int value;

	if (*arg != '-' && !get_unsigned(&value, arg, 0) && value <= MAXLEN_MAX)
		return put_u32(n, TCA_SPA_MAXLEN, value);
	return expected("spa", "maxlen", "a whole number, 0 to 65535", arg);
}

static int put_share(struct nlmsghdr *n, const char *arg)
{
	unsigned int percent;

	if (read_percent(&percent, arg))
		return put_u32(n, TCA_SPA_SHARE, percent);
	return expected("spa", "share", "a percentage, 1 to 100", arg);
}

static int spa_option(void *n, int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*put)(struct nlmsghdr *n, const char *arg);
	} options[] = {
		{ "fin", put_fin },
		{ "maxlen", put_maxlen },
		{ "share", put_share },
	};
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (strcmp(*argv, options[i].name))
			continue;
		if (argc < 2)
			incomplete_command();
		return with_value(options[i].put(n, argv[1]));
	}
	return 0;
}

static int spa_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct rtattr *opts;

	opts = addattr_nest(n, MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	if (read_options("spa", argc, argv, spa_option, n, explain))
		return -1;
	addattr_nest_end(n, opts);
	return 0;
}

static int spa_print_opt(const struct qdisc_util *qu, FILE *f,
			 struct rtattr *opt)
{
	struct rtattr *tb[TCA_SPA_MAX + 1];

	if (!opt)
		return 0;
	parse_rtattr_flags(tb, TCA_SPA_MAX, RTA_DATA(opt), RTA_PAYLOAD(opt),
			   NLA_F_NESTED);

	if (tb[TCA_SPA_FIN]) {
		__u32 fin = get_u32_attr(tb[TCA_SPA_FIN]);

		print_string(PRINT_ANY, "fin", "fin %s ",
			     fin <= TC_SPA_FIN_MAX ? fin_names[fin] : "unknown");
	}
	print_u32_attr(tb[TCA_SPA_MAXLEN], "maxlen", "maxlen %u ");
	print_u32_attr(tb[TCA_SPA_SHARE], "share", "share %u%% ");
	return 0;
}

static int spa_print_xstats(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	struct rtattr *tb[TCA_SPA_XSTATS_MAX + 1];

	if (!xstats)
		return 0;
	parse_rtattr_flags(tb, TCA_SPA_XSTATS_MAX, RTA_DATA(xstats),
			   RTA_PAYLOAD(xstats), NLA_F_NESTED);

	print_u64_attr(tb[TCA_SPA_XSTATS_SYN], "syn", "  syn %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_FIN], "fin_first", " fin_first %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_TOOLONG], "toolong", " toolong %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_OVERSHARE], "overshare",
		       " overshare %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_FLOOD_DROP], "flood_drop",
		       " flood_drop %llu");
	return 0;
}

/* The classes have no options. */
static int spa_print_copt(const struct qdisc_util *qu, FILE *f,
			  struct rtattr *opt)
{
	(void)opt;
	return 0;
}

struct qdisc_util spa_qdisc_util = {
	.id = "spa",
	.parse_qopt = spa_parse_opt,
	.print_qopt = spa_print_opt,
	.print_xstats = spa_print_xstats,
	.print_copt = spa_print_copt,
};
