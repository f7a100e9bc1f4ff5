// SPDX-License-Identifier: GPL-2.0-only
/* Plug-in of tc(8) for the qdisc spa. */

#include <string.h>

#include "attributes.h"
#include "iproute2.h"
#include "pkt_sch_spa.h"

static const char *const fin_names[] = {
	[TC_SPA_FIN_INORDER] = "inorder",
	[TC_SPA_FIN_PRIORITY] = "priority",
	[TC_SPA_FIN_NONE] = "none",
};

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... spa [ target TIME ] [ interval TIME ] [ limit PACKETS ]\n"
		"               [ ecn | noecn ] [ ce_threshold { TIME | off } ]\n"
		"               [ fin { inorder | priority | none } ]\n"
		"               [ maxlen BYTES ] [ held PACKETS ]\n"
		"               [ share PERCENT ] [ memory BYTES ]\n");
}

static int put_number(struct nlmsghdr *n, int attr, const char *option,
		      const char *arg, unsigned int min, unsigned int max)
{
	unsigned int value;
	char what[64];

	if (*arg != '-' && !get_unsigned(&value, arg, 0) && value >= min &&
	    value <= max)
		return put_u32(n, attr, value);
	snprintf(what, sizeof(what), "a whole number, %u to %u", min, max);
	return expected("spa", option, what, arg);
}

static int put_time(struct nlmsghdr *n, int attr, const char *option,
		    const char *arg, unsigned int min)
{
	char what[64];
	__s64 ns;

	/* The function get_time() of tc reduces larger times modulo 2^32. */
	if (!get_time64(&ns, arg) && ns >= 1000LL * min &&
	    ns / 1000 <= TC_SPA_TIME_MAX)
		return put_u32(n, attr, ns / 1000);
	snprintf(what, sizeof(what), "a time, %uus to 2199s, such as 5ms", min);
	return expected("spa", option, what, arg);
}

static int put_ce_threshold(struct nlmsghdr *n, const char *arg)
{
	if (strcmp(arg, "off"))
		return put_time(n, TCA_SPA_CE_THRESHOLD, "ce_threshold", arg, 0);
	return put_u32(n, TCA_SPA_CE_THRESHOLD, TC_SPA_CE_THRESHOLD_OFF);
}

static int put_fin(struct nlmsghdr *n, const char *arg)
{
	int i;

	for (i = 0; i <= TC_SPA_FIN_MAX; i++)
		if (!strcmp(arg, fin_names[i]))
			return put_u8(n, TCA_SPA_FIN, i);
	return expected("spa", "fin", "inorder, priority or none", arg);
}

static int put_share(struct nlmsghdr *n, const char *arg)
{
	unsigned int percent;

	if (read_percent(&percent, arg))
		return put_u8(n, TCA_SPA_SHARE, percent);
	return expected("spa", "share", "a percentage, 1 to 100", arg);
}

static int put_memory(struct nlmsghdr *n, const char *arg)
{
	unsigned int value;

	if (*arg != '-' && !get_size(&value, arg) && value)
		return put_u32(n, TCA_SPA_MEMORY, value);
	return expected("spa", "memory", "a size, such as 32mb", arg);
}

static int put_option(struct nlmsghdr *n, const char *option, const char *arg)
{
	if (!strcmp(option, "target"))
		return put_time(n, TCA_SPA_TARGET, option, arg, 0);
	if (!strcmp(option, "interval"))
		return put_time(n, TCA_SPA_INTERVAL, option, arg,
				TC_SPA_INTERVAL_MIN);
	if (!strcmp(option, "limit"))
		return put_number(n, TCA_SPA_LIMIT, option, arg, 1,
				  TC_SPA_LIMIT_MAX);
	if (!strcmp(option, "ce_threshold"))
		return put_ce_threshold(n, arg);
	if (!strcmp(option, "fin"))
		return put_fin(n, arg);
	if (!strcmp(option, "maxlen"))
		return put_number(n, TCA_SPA_MAXLEN, option, arg, 0,
				  TC_SPA_MAXLEN_MAX);
	if (!strcmp(option, "held"))
		return put_number(n, TCA_SPA_HELD, option, arg, 0,
				  TC_SPA_HELD_MAX);
	if (!strcmp(option, "share"))
		return put_share(n, arg);
	return put_memory(n, arg);
}

static bool has_argument(const char *option)
{
	static const char *const names[] = {
		"target", "interval", "limit", "ce_threshold", "fin",
		"maxlen", "held", "share", "memory",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(option, names[i]))
			return true;
	return false;
}

static int spa_option(void *n, int argc, char **argv)
{
	if (!strcmp(*argv, "ecn"))
		return put_u8(n, TCA_SPA_ECN, 1) ? -1 : 1;
	if (!strcmp(*argv, "noecn"))
		return put_u8(n, TCA_SPA_ECN, 0) ? -1 : 1;
	if (!has_argument(*argv))
		return 0;
	if (argc < 2)
		incomplete_command();
	return with_value(put_option(n, argv[0], argv[1]));
}

static int spa_parse_opt(struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct rtattr *opts;

	(void)qu;
	(void)dev;
	opts = addattr_nest(n, MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	if (read_options("spa", argc, argv, spa_option, n, explain))
		return -1;
	addattr_nest_end(n, opts);
	return 0;
}

static __u8 get_u8_attr(const struct rtattr *attr)
{
	return RTA_PAYLOAD(attr) ? *(__u8 *)RTA_DATA(attr) : 0;
}

/* JSON: microseconds; text: the largest unit that needs no fraction. */
static void print_time(const char *key, const char *prefix, __s64 us)
{
	char text[64];

	if (us && us % 1000000 == 0)
		snprintf(text, sizeof(text), "%s%llds", prefix, us / 1000000);
	else if (us && us % 1000 == 0)
		snprintf(text, sizeof(text), "%s%lldms", prefix, us / 1000);
	else
		snprintf(text, sizeof(text), "%s%lldus", prefix, us);
	print_s64(PRINT_JSON, key, NULL, us);
	print_string(PRINT_FP, NULL, "%s ", text);
}

static int spa_print_opt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[TCA_SPA_MAX + 1];

	(void)qu;
	(void)f;
	if (!opt)
		return 0;
	parse_rtattr_flags(tb, TCA_SPA_MAX, RTA_DATA(opt), RTA_PAYLOAD(opt),
			   NLA_F_NESTED);

	if (tb[TCA_SPA_TARGET])
		print_time("target", "target ",
			   get_u32_attr(tb[TCA_SPA_TARGET]));
	if (tb[TCA_SPA_INTERVAL])
		print_time("interval", "interval ",
			   get_u32_attr(tb[TCA_SPA_INTERVAL]));
	print_u32_attr(tb[TCA_SPA_LIMIT], "limit", "limit %up ");
	if (tb[TCA_SPA_ECN]) {
		bool ecn = get_u8_attr(tb[TCA_SPA_ECN]);

		print_bool(PRINT_JSON, "ecn", NULL, ecn);
		print_string(PRINT_FP, NULL, "%s ", ecn ? "ecn" : "noecn");
	}
	if (tb[TCA_SPA_CE_THRESHOLD])
		print_time("ce_threshold", "ce_threshold ",
			   get_u32_attr(tb[TCA_SPA_CE_THRESHOLD]));
	if (tb[TCA_SPA_FIN]) {
		__u8 fin = get_u8_attr(tb[TCA_SPA_FIN]);

		print_string(PRINT_ANY, "fin", "fin %s ",
			     fin <= TC_SPA_FIN_MAX ? fin_names[fin] : "unknown");
	}
	print_u32_attr(tb[TCA_SPA_MAXLEN], "maxlen", "maxlen %u ");
	print_u32_attr(tb[TCA_SPA_HELD], "held", "held %u ");
	if (tb[TCA_SPA_SHARE])
		print_uint(PRINT_ANY, "share", "share %u%% ",
			   get_u8_attr(tb[TCA_SPA_SHARE]));
	print_u32_attr(tb[TCA_SPA_MEMORY], "memory", "memory %ub ");
	return 0;
}

/* A 64-bit counter, which a module of another version may lack. */
static void print_u64_attr(struct rtattr *attr, const char *key,
			   const char *format)
{
	if (attr)
		print_u64(PRINT_ANY, key, format, get_u64_attr(attr));
}

static void print_drops(struct rtattr *tb[])
{
	open_json_object("drops");
	print_u64_attr(tb[TCA_SPA_QUEUE_DROP_CODEL], "codel",
		       " dropped codel %llu");
	print_u64_attr(tb[TCA_SPA_QUEUE_DROP_LIMIT], "limit", " limit %llu");
	print_u64_attr(tb[TCA_SPA_QUEUE_DROP_MEMORY], "memory",
		       " memory %llu");
	print_u64_attr(tb[TCA_SPA_QUEUE_DROP_CHILD], "child", " child %llu");
	print_u64_attr(tb[TCA_SPA_QUEUE_DROP_CHANGE], "change",
		       " change %llu");
	close_json_object();
}

static void print_codel(struct rtattr *tb[])
{
	struct rtattr *drop_next = tb[TCA_SPA_QUEUE_DROP_NEXT];

	print_string(PRINT_FP, NULL, "%s", "  ");
	if (tb[TCA_SPA_QUEUE_LDELAY])
		print_time("ldelay", "  ldelay ",
			   get_u32_attr(tb[TCA_SPA_QUEUE_LDELAY]));
	print_u32_attr(tb[TCA_SPA_QUEUE_COUNT], "count", "count %u");
	print_u32_attr(tb[TCA_SPA_QUEUE_LASTCOUNT], "lastcount",
		       " lastcount %u ");
	print_bool(PRINT_JSON, "dropping", NULL, drop_next);
	if (drop_next) {
		print_string(PRINT_FP, NULL, "%s ", "dropping");
		print_time("drop_next", "drop_next ",
			   (__s32)get_u32_attr(drop_next));
	}
	print_u32_attr(tb[TCA_SPA_QUEUE_MAXPACKET], "maxpacket",
		       "maxpacket %u");
	print_u32_attr(tb[TCA_SPA_QUEUE_ECN_MARK], "ecn_mark",
		       " ecn_mark %u");
	print_u32_attr(tb[TCA_SPA_QUEUE_CE_MARK], "ce_mark", " ce_mark %u");
}

static void print_queue(const char *name, struct rtattr *nest, bool first)
{
	struct rtattr *tb[TCA_SPA_QUEUE_MAX + 1];
	bool child;

	if (!nest)
		return;
	parse_rtattr_flags(tb, TCA_SPA_QUEUE_MAX, RTA_DATA(nest),
			   RTA_PAYLOAD(nest), NLA_F_NESTED);
	child = !tb[TCA_SPA_QUEUE_MAXPACKET];

	if (!first)
		print_nl();
	print_string(PRINT_FP, NULL, "  %s:", name);
	open_json_object(name);
	print_u32_attr(tb[TCA_SPA_QUEUE_QLEN], "qlen", " %up");
	print_u32_attr(tb[TCA_SPA_QUEUE_BACKLOG], "backlog", " %ub");
	print_u32_attr(tb[TCA_SPA_QUEUE_MEMORY], "memory_used",
		       " memory_used %u");
	print_bool(PRINT_JSON, "child", NULL, child);
	print_u64_attr(tb[TCA_SPA_QUEUE_ENQUEUED], "enqueued",
		       " enqueued %llu");
	print_u64_attr(tb[TCA_SPA_QUEUE_SENT], "sent", " sent %llu");
	print_u64_attr(tb[TCA_SPA_QUEUE_SENT_BYTES], "sent_bytes",
		       " sent_bytes %llu");
	print_nl();
	print_string(PRINT_FP, NULL, "%s", "   ");
	print_drops(tb);
	if (!child) {
		print_nl();
		print_codel(tb);
	}
	close_json_object();
}

/* Statistics of the qdisc that its classes do not have. */
static void print_qdisc(struct rtattr *tb[])
{
	print_u64_attr(tb[TCA_SPA_XSTATS_SYN], "syn", "  syn %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_FIN_FIRST], "fin_first",
		       " fin_first %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_TOOLONG], "toolong",
		       " toolong %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_HELD_BACK], "held_back",
		       " held_back %llu");
	if (tb[TCA_SPA_XSTATS_CREDIT])
		print_s64(PRINT_ANY, "credit", " credit %lld",
			  get_u64_attr(tb[TCA_SPA_XSTATS_CREDIT]));
	print_nl();
	print_u64_attr(tb[TCA_SPA_XSTATS_FIN_KEPT], "fin_kept",
		       "  fin_kept %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_MARK_FOR_FIN], "mark_for_fin",
		       " mark_for_fin %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_DROP_FOR_FIN], "drop_for_fin",
		       " drop_for_fin %llu");
	print_u64_attr(tb[TCA_SPA_XSTATS_FIN_OVERLIMIT], "fin_overlimit",
		       " fin_overlimit %llu");
	print_u32_attr(tb[TCA_SPA_XSTATS_HELD], "held", " held %up");
	print_u32_attr(tb[TCA_SPA_XSTATS_HELD_BACKLOG], "held_backlog",
		       " %ub");
}

static int spa_print_xstats(struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	struct rtattr *tb[TCA_SPA_XSTATS_MAX + 1];
	bool class;

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	parse_rtattr_flags(tb, TCA_SPA_XSTATS_MAX, RTA_DATA(xstats),
			   RTA_PAYLOAD(xstats), NLA_F_NESTED);

	class = !tb[TCA_SPA_XSTATS_SYN];
	if (!class)
		print_qdisc(tb);
	print_queue("priority", tb[TCA_SPA_XSTATS_PRIORITY], class);
	print_queue("data", tb[TCA_SPA_XSTATS_DATA], class);
	return 0;
}

/* The classes have no options. */
static int spa_print_copt(struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	(void)qu;
	(void)f;
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
