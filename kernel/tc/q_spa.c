// SPDX-License-Identifier: GPL-2.0-only
/* Plug-in of tc(8) for the qdisc spa. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "iproute2.h"
#include "pkt_sch_spa.h"

/* Room in the request, as tc's own qdiscs allow. */
#define SPA_MAX_MSG 1024

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

static int expected(const char *option, const char *what, const char *got)
{
	fprintf(stderr, "spa: %s: expected %s, not \"%s\"\n", option, what, got);
	return -1;
}

static int put_number(struct nlmsghdr *n, int attr, const char *option,
		      const char *arg, unsigned int min, unsigned int max)
{
	unsigned int value;
	char what[64];

	if (*arg != '-' && !get_unsigned(&value, arg, 0) && value >= min &&
	    value <= max) {
		addattr_l(n, SPA_MAX_MSG, attr, &value, sizeof(value));
		return 0;
	}
	snprintf(what, sizeof(what), "a whole number, %u to %u", min, max);
	return expected(option, what, arg);
}

static int put_time(struct nlmsghdr *n, int attr, const char *option,
		    const char *arg, unsigned int min)
{
	__s64 ns;

	/* tc's get_time() takes what does not fit modulo 2^32. */
	if (!get_time64(&ns, arg) && ns >= 1000LL * min &&
	    ns / 1000 <= TC_SPA_TIME_MAX) {
		__u32 us = ns / 1000;

		addattr_l(n, SPA_MAX_MSG, attr, &us, sizeof(us));
		return 0;
	}
	return expected(option, "a time up to 2199s, such as 5ms", arg);
}

static int put_byte(struct nlmsghdr *n, int attr, __u8 value)
{
	addattr_l(n, SPA_MAX_MSG, attr, &value, sizeof(value));
	return 0;
}

static int put_ce_threshold(struct nlmsghdr *n, const char *arg)
{
	__u32 off = TC_SPA_CE_THRESHOLD_OFF;

	if (strcmp(arg, "off"))
		return put_time(n, TCA_SPA_CE_THRESHOLD, "ce_threshold", arg, 0);
	addattr_l(n, SPA_MAX_MSG, TCA_SPA_CE_THRESHOLD, &off, sizeof(off));
	return 0;
}

static int put_fin(struct nlmsghdr *n, const char *arg)
{
	int i;

	for (i = 0; i <= TC_SPA_FIN_MAX; i++)
		if (!strcmp(arg, fin_names[i]))
			return put_byte(n, TCA_SPA_FIN, i);
	return expected("fin", "inorder, priority or none", arg);
}

/* "25" and "25%". */
static int put_share(struct nlmsghdr *n, const char *arg)
{
	char *end;
	long value = strtol(arg, &end, 10);

	if (end != arg && (!*end || !strcmp(end, "%")) && value >= 1 &&
	    value <= 100)
		return put_byte(n, TCA_SPA_SHARE, value);
	return expected("share", "a percentage, 1 to 100", arg);
}

static int put_memory(struct nlmsghdr *n, const char *arg)
{
	unsigned int value;

	if (*arg != '-' && !get_size(&value, arg) && value) {
		addattr_l(n, SPA_MAX_MSG, TCA_SPA_MEMORY, &value, sizeof(value));
		return 0;
	}
	return expected("memory", "a size, such as 32mb", arg);
}

static int put_option(struct nlmsghdr *n, const char *option, const char *arg)
{
	if (!strcmp(option, "target"))
		return put_time(n, TCA_SPA_TARGET, option, arg, 0);
	if (!strcmp(option, "interval"))
		return put_time(n, TCA_SPA_INTERVAL, option, arg, 1);
	if (!strcmp(option, "limit"))
		return put_number(n, TCA_SPA_LIMIT, option, arg, 1, UINT_MAX);
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

static int spa_parse_opt(struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct rtattr *opts;

	(void)qu;
	(void)dev;
	opts = addattr_nest(n, SPA_MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	for (; argc > 0; argc--, argv++) {
		const char *option = *argv;

		if (!strcmp(option, "ecn")) {
			put_byte(n, TCA_SPA_ECN, 1);
		} else if (!strcmp(option, "noecn")) {
			put_byte(n, TCA_SPA_ECN, 0);
		} else if (has_argument(option)) {
			if (--argc <= 0)
				incomplete_command();
			if (put_option(n, option, *++argv))
				return -1;
		} else {
			if (strcmp(option, "help"))
				fprintf(stderr, "spa: no option \"%s\"\n",
					option);
			explain();
			return -1;
		}
	}
	addattr_nest_end(n, opts);
	return 0;
}

static __u32 get_u32_attr(const struct rtattr *attr)
{
	__u32 value = 0;

	memcpy(&value, RTA_DATA(attr),
	       RTA_PAYLOAD(attr) < sizeof(value) ? RTA_PAYLOAD(attr) :
						   sizeof(value));
	return value;
}

static __u8 get_u8_attr(const struct rtattr *attr)
{
	return RTA_PAYLOAD(attr) ? *(__u8 *)RTA_DATA(attr) : 0;
}

/* In JSON microseconds; as text the largest unit that loses nothing. */
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

static void print_u32_attr(struct rtattr *attr, const char *key,
			   const char *format)
{
	if (attr)
		print_uint(PRINT_ANY, key, format, get_u32_attr(attr));
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

static void print_drops(const struct tc_spa_queue_xstats *st)
{
	open_json_object("drops");
	print_u64(PRINT_ANY, "codel", " dropped codel %llu", st->drop_codel);
	print_u64(PRINT_ANY, "limit", " limit %llu", st->drop_limit);
	print_u64(PRINT_ANY, "memory", " memory %llu", st->drop_memory);
	print_u64(PRINT_ANY, "child", " child %llu", st->drop_child);
	print_u64(PRINT_ANY, "change", " change %llu", st->drop_change);
	close_json_object();
}

static void print_codel(const struct tc_spa_queue_xstats *st)
{
	print_string(PRINT_FP, NULL, "%s", "  ");
	print_time("ldelay", "  ldelay ", st->ldelay);
	print_uint(PRINT_ANY, "count", "count %u", st->count);
	print_uint(PRINT_ANY, "lastcount", " lastcount %u ", st->lastcount);
	print_bool(PRINT_JSON, "dropping", NULL, st->dropping);
	if (st->dropping) {
		print_string(PRINT_FP, NULL, "%s ", "dropping");
		print_time("drop_next", "drop_next ", st->drop_next);
	}
	print_uint(PRINT_ANY, "maxpacket", "maxpacket %u", st->maxpacket);
	print_uint(PRINT_ANY, "ecn_mark", " ecn_mark %u", st->ecn_mark);
	print_uint(PRINT_ANY, "ce_mark", " ce_mark %u", st->ce_mark);
}

static void print_queue(const struct tc_spa_queue_xstats *st)
{
	print_uint(PRINT_ANY, "qlen", " %up", st->qlen);
	print_uint(PRINT_ANY, "backlog", " %ub", st->backlog);
	print_uint(PRINT_ANY, "memory_used", " memory_used %u", st->memory);
	print_bool(PRINT_JSON, "child", NULL, st->child);
	print_u64(PRINT_ANY, "enqueued", " enqueued %llu", st->enqueued);
	print_u64(PRINT_ANY, "sent", " sent %llu", st->sent);
	print_u64(PRINT_ANY, "sent_bytes", " sent_bytes %llu", st->bytes);
	print_nl();
	print_string(PRINT_FP, NULL, "%s", "   ");
	print_drops(st);
	if (!st->child) {
		print_nl();
		print_codel(st);
	}
}

static void print_named_queue(const char *name,
			      const struct tc_spa_queue_xstats *st)
{
	print_nl();
	print_string(PRINT_FP, NULL, "  %s:", name);
	open_json_object(name);
	print_queue(st);
	close_json_object();
}

static void print_qdisc(const struct tc_spa_qdisc_xstats *st)
{
	print_u64(PRINT_ANY, "syn", "  syn %llu", st->syn);
	print_u64(PRINT_ANY, "fin_first", " fin_first %llu", st->fin_first);
	print_u64(PRINT_ANY, "toolong", " toolong %llu", st->toolong);
	print_u64(PRINT_ANY, "held_back", " held_back %llu", st->held_back);
	print_s64(PRINT_ANY, "credit", " credit %lld", st->credit);
	print_nl();
	print_u64(PRINT_ANY, "fin_spared", "  fin_spared %llu", st->fin_spared);
	print_u64(PRINT_ANY, "fin_paid", " fin_paid %llu", st->fin_paid);
	print_u64(PRINT_ANY, "fin_refused", " fin_refused %llu",
		  st->fin_refused);
	print_uint(PRINT_ANY, "held", " held %up", st->held);
	print_uint(PRINT_ANY, "held_backlog", " %ub", st->held_backlog);
	print_named_queue("priority", &st->priority);
	print_named_queue("data", &st->data);
}

static int spa_print_xstats(struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	struct tc_spa_xstats st = {};
	size_t size;

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;

	/* A module of another version knows less, or more. */
	size = RTA_PAYLOAD(xstats);
	memcpy(&st, RTA_DATA(xstats), size < sizeof(st) ? size : sizeof(st));

	if (st.type == TC_SPA_XSTATS_QDISC) {
		print_qdisc(&st.qdisc);
	} else if (st.type == TC_SPA_XSTATS_CLASS) {
		/* tc has a qlen of its own here. */
		open_json_object("queue");
		print_string(PRINT_FP, NULL, "%s", " ");
		print_queue(&st.queue);
		close_json_object();
	}
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
