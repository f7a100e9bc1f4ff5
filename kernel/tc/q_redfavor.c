// SPDX-License-Identifier: GPL-2.0-only
/* Plug-in of tc(8) for the qdisc redfavor.
 *
 * Options, defaults and derived values are as in gentle's redfavor; weight and
 * idle table are computed by the functions that tc has for red.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "iproute2.h"
#include "pkt_sch_redfavor.h"

/* tc/tc_red.h and include/utils.h of iproute2; the rate in bytes a second. */
int tc_red_eval_ewma(unsigned int qmin, unsigned int burst, unsigned int avpkt);
int tc_red_eval_idle_damping(int wlog, unsigned int avpkt,
			     unsigned int bandwidth, __u8 *stab);
int get_rate64(__u64 *rate, const char *str);
int print_color_float(enum output_type t, int color, const char *key,
		      const char *fmt, double value);

#define print_float(t, key, fmt, v) \
	print_color_float(t, COLOR_NONE, key, fmt, v)

#define REDFAVOR_MAX_BYTES (1U << 30)
#define REDFAVOR_MAX_AVPKT 65536
#define REDFAVOR_MAX_BURST 1000000
#define REDFAVOR_MAX_EWMA 30
/* The largest cell for which the kernel's idle table fits 32 bits of us. */
#define REDFAVOR_MAX_SCELL_LOG 24
/* An average over more than 2^16 packets hardly moves. */
#define REDFAVOR_MAX_WLOG 16

/* Options as given by the user; 0 if not given. */
struct redfavor_options {
	unsigned int limit;
	unsigned int min;
	unsigned int max;
	unsigned int avpkt;
	unsigned int burst;
	unsigned int ewma;
	__u64 bandwidth;	/* bytes a second */
	double probability;
	struct nla_bitfield32 flags;
	unsigned int maxlen;
	bool maxlen_given;	/* 0 is a valid value */
	unsigned int share;
};

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... redfavor [ limit BYTES ] [ min BYTES ] [ max BYTES ]\n"
		"                    [ avpkt BYTES ] [ burst PACKETS | ewma EXPONENT ]\n"
		"                    [ probability VALUE ] [ bandwidth RATE ]\n"
		"                    [ ecn | noecn ] [ harddrop | noharddrop ]\n"
		"                    [ nodrop | drop ] [ adaptive | noadaptive ]\n"
		"                    [ maxlen BYTES ] [ share PERCENT ]\n"
		"                    [ exempt | noexempt ]\n");
}

static int impossible(const char *what)
{
	fprintf(stderr, "redfavor: %s\n", what);
	return -1;
}

static int read_size(unsigned int *value, const char *option, const char *arg,
		     unsigned int max)
{
	char what[64];

	if (*arg != '-' && !get_size(value, arg) && *value >= 1 && *value <= max)
		return 0;
	snprintf(what, sizeof(what), "a size, 1 to %u bytes", max);
	return expected("redfavor", option, what, arg);
}

static int read_number(unsigned int *value, const char *option, const char *arg,
		       unsigned int max)
{
	char what[64];

	if (*arg != '-' && !get_unsigned(value, arg, 10) && *value >= 1 &&
	    *value <= max)
		return 0;
	snprintf(what, sizeof(what), "a whole number, 1 to %u", max);
	return expected("redfavor", option, what, arg);
}

static int read_probability(double *value, const char *arg)
{
	char *end;

	*value = strtod(arg, &end);
	if (end != arg && !*end && *value >= 0.000001 && *value <= 1)
		return 0;
	return expected("redfavor", "probability", "a number, 0.000001 to 1", arg);
}

/* The idle table of tc takes 32-bit rates. */
static int read_bandwidth(__u64 *value, const char *arg)
{
	if (*arg != '-' && !get_rate64(value, arg) && *value >= 125 &&
	    *value <= UINT32_MAX)
		return 0;
	return expected("redfavor", "bandwidth", "a rate, 1kbit to 34gbit", arg);
}

static int read_maxlen(struct redfavor_options *o, const char *arg)
{
	if (*arg != '-' && !get_unsigned(&o->maxlen, arg, 10) &&
	    o->maxlen <= 65535) {
		o->maxlen_given = true;
		return 0;
	}
	return expected("redfavor", "maxlen", "a whole number, 0 to 65535", arg);
}

static int read_share(unsigned int *value, const char *arg)
{
	if (read_percent(value, arg))
		return 0;
	return expected("redfavor", "share", "a percentage, 1 to 100", arg);
}

/* Returns 1 if no option has this name. */
static int read_value(struct redfavor_options *o, const char *option,
		      const char *arg)
{
	if (!strcmp(option, "limit"))
		return read_size(&o->limit, option, arg, REDFAVOR_MAX_BYTES);
	if (!strcmp(option, "min"))
		return read_size(&o->min, option, arg, REDFAVOR_MAX_BYTES);
	if (!strcmp(option, "max"))
		return read_size(&o->max, option, arg, REDFAVOR_MAX_BYTES);
	if (!strcmp(option, "avpkt"))
		return read_size(&o->avpkt, option, arg, REDFAVOR_MAX_AVPKT);
	if (!strcmp(option, "burst"))
		return read_number(&o->burst, option, arg, REDFAVOR_MAX_BURST);
	if (!strcmp(option, "ewma"))
		return read_number(&o->ewma, option, arg, REDFAVOR_MAX_EWMA);
	if (!strcmp(option, "probability"))
		return read_probability(&o->probability, arg);
	if (!strcmp(option, "bandwidth"))
		return read_bandwidth(&o->bandwidth, arg);
	if (!strcmp(option, "maxlen"))
		return read_maxlen(o, arg);
	if (!strcmp(option, "share"))
		return read_share(&o->share, arg);
	return 1;
}

static bool read_flag(struct redfavor_options *o, const char *option)
{
	static const struct {
		const char *name;
		__u32 flag;
		bool on;
	} words[] = {
		{ "ecn", TC_RED_ECN, true },
		{ "noecn", TC_RED_ECN, false },
		{ "harddrop", TC_RED_HARDDROP, true },
		{ "noharddrop", TC_RED_HARDDROP, false },
		{ "nodrop", TC_RED_NODROP, true },
		{ "drop", TC_RED_NODROP, false },
		{ "adaptive", TC_RED_ADAPTATIVE, true },
		{ "noadaptive", TC_RED_ADAPTATIVE, false },
		{ "exempt", TC_REDFAVOR_EXEMPT, true },
		{ "noexempt", TC_REDFAVOR_EXEMPT, false },
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(option, words[i].name))
			continue;
		o->flags.selector |= words[i].flag;
		o->flags.value &= ~words[i].flag;
		if (words[i].on)
			o->flags.value |= words[i].flag;
		return true;
	}
	return false;
}

static int put_average(struct nlmsghdr *n, const struct redfavor_options *o)
{
	unsigned int limit = o->limit ? o->limit : 75000;
	unsigned int avpkt = o->avpkt ? o->avpkt : 1000;
	unsigned int bandwidth = o->bandwidth ? o->bandwidth : 10000000 / 8;
	unsigned int burst = o->burst, min = o->min, max = o->max;
	__u8 stab[TC_REDFAVOR_STAB_SIZE];
	int wlog, scell_log;

	if (!max)
		max = !min ? limit / 4 :
		      min > UINT32_MAX / 3 ? UINT32_MAX : min * 3;
	if (!min)
		min = max / 3;
	if (min >= max)
		return impossible("min is not below max; expected max to be about three times min");
	if (!burst)
		burst = (2ULL * min + max) / (3ULL * avpkt);

	if (!o->ewma && (__u64)burst * avpkt < min)
		return impossible("burst is too small for min; expected more packets, or a smaller avpkt");
	wlog = o->ewma ? (int)o->ewma : tc_red_eval_ewma(min, burst, avpkt);
	if (!o->ewma && (wlog < 1 || wlog > REDFAVOR_MAX_WLOG))
		return impossible("burst is too large for min; expected fewer packets, or a larger min");
	if (ilogb(max) + 1 + wlog >= 32)
		return impossible("max does not fit 32 bits with this average; expected a smaller max or burst");

	scell_log = tc_red_eval_idle_damping(wlog, avpkt, bandwidth, stab);
	if (scell_log < 0 || scell_log > REDFAVOR_MAX_SCELL_LOG)
		return impossible("bandwidth is too low for this average; expected a higher one or a smaller burst");

	put_u32(n, TCA_REDFAVOR_QTH_MIN, min);
	put_u32(n, TCA_REDFAVOR_QTH_MAX, max);
	put_u32(n, TCA_REDFAVOR_WLOG, wlog);
	put_u32(n, TCA_REDFAVOR_SCELL_LOG, scell_log);
	addattr_l(n, MAX_MSG, TCA_REDFAVOR_STAB, stab, sizeof(stab));
	return 0;
}

static int put_options(struct nlmsghdr *n, const struct redfavor_options *o)
{
	/* A change keeps the parameters of the average unless it gives one. */
	bool add = n->nlmsg_flags & NLM_F_CREATE;

	if (o->limit)
		put_u32(n, TCA_REDFAVOR_LIMIT, o->limit);
	if (o->flags.selector)
		addattr_l(n, MAX_MSG, TCA_REDFAVOR_FLAGS, &o->flags,
			  sizeof(o->flags));
	if (o->maxlen_given)
		put_u32(n, TCA_REDFAVOR_MAXLEN, o->maxlen);
	if (o->share)
		put_u32(n, TCA_REDFAVOR_SHARE, o->share);
	if (o->probability > 0) {
		double max_p = o->probability * 4294967296.0;

		put_u32(n, TCA_REDFAVOR_MAX_P,
			max_p < UINT32_MAX ? (__u32)max_p : UINT32_MAX);
	}
	if (add || o->min || o->max || o->avpkt || o->burst || o->ewma ||
	    o->bandwidth)
		return put_average(n, o);
	return 0;
}

static int redfavor_option(void *options, int argc, char **argv)
{
	if (read_flag(options, *argv))
		return 1;
	return with_value(read_value(options, argv[0], argc > 1 ? argv[1] : ""));
}

static int redfavor_parse_opt(const struct qdisc_util *qu, int argc,
			      char **argv,
			      struct nlmsghdr *n, const char *dev)
{
	struct redfavor_options o = {};
	struct rtattr *opts;

	if (read_options("redfavor", argc, argv, redfavor_option, &o, explain))
		return -1;
	opts = addattr_nest(n, MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	if (put_options(n, &o))
		return -1;
	addattr_nest_end(n, opts);
	return 0;
}

static void print_flag(__u32 flags, __u32 flag, const char *name)
{
	print_bool(PRINT_JSON, name, NULL, flags & flag);
	if (flags & flag)
		print_string(PRINT_FP, NULL, "%s ", name);
}

static int redfavor_print_opt(const struct qdisc_util *qu, FILE *f,
			      struct rtattr *opt)
{
	struct rtattr *tb[TCA_REDFAVOR_MAX + 1];

	if (!opt)
		return 0;
	parse_rtattr_flags(tb, TCA_REDFAVOR_MAX, RTA_DATA(opt),
			   RTA_PAYLOAD(opt), NLA_F_NESTED);

	print_u32_attr(tb[TCA_REDFAVOR_LIMIT], "limit", "limit %ub ");
	print_u32_attr(tb[TCA_REDFAVOR_QTH_MIN], "min", "min %ub ");
	print_u32_attr(tb[TCA_REDFAVOR_QTH_MAX], "max", "max %ub ");
	print_u32_attr(tb[TCA_REDFAVOR_WLOG], "ewma", "ewma %u ");
	if (tb[TCA_REDFAVOR_MAX_P])
		print_float(PRINT_ANY, "probability", "probability %lg ",
			    get_u32_attr(tb[TCA_REDFAVOR_MAX_P]) / 4294967296.0);
	print_u32_attr(tb[TCA_REDFAVOR_SCELL_LOG], "scell_log", "scell_log %u ");
	if (tb[TCA_REDFAVOR_FLAGS]) {
		__u32 flags = get_u32_attr(tb[TCA_REDFAVOR_FLAGS]);

		print_flag(flags, TC_RED_ECN, "ecn");
		print_flag(flags, TC_RED_HARDDROP, "harddrop");
		print_flag(flags, TC_RED_NODROP, "nodrop");
		print_flag(flags, TC_RED_ADAPTATIVE, "adaptive");
		print_flag(flags, TC_REDFAVOR_EXEMPT, "exempt");
	}
	print_u32_attr(tb[TCA_REDFAVOR_MAXLEN], "maxlen", "maxlen %u ");
	print_u32_attr(tb[TCA_REDFAVOR_SHARE], "share", "share %u%% ");
	return 0;
}

static int redfavor_print_xstats(const struct qdisc_util *qu, FILE *f,
				 struct rtattr *xstats)
{
	struct rtattr *tb[TCA_REDFAVOR_XSTATS_MAX + 1];

	if (!xstats)
		return 0;
	parse_rtattr_flags(tb, TCA_REDFAVOR_XSTATS_MAX, RTA_DATA(xstats),
			   RTA_PAYLOAD(xstats), NLA_F_NESTED);

	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_PROB_DROP], "prob_drop",
		       "  prob_drop %llu");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_FORCED_DROP], "forced_drop",
		       " forced_drop %llu");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_TAIL_DROP], "tail_drop",
		       " tail_drop %llu");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_PUSH_OUT], "push_out",
		       " push_out %llu");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_PROB_MARK], "prob_mark",
		       " prob_mark %llu");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_FORCED_MARK], "forced_mark",
		       " forced_mark %llu");
	print_nl();
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_SYN_QUEUED], "syn_queued",
		       "  syn_queued %llu");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_SYN_SAVED], "syn_saved",
		       " syn_saved %llu");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_SYN_EARLY_DROP], "syn_early_drop",
		       " syn_early_drop %llu");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_SYN_TAIL_DROP], "syn_tail_drop",
		       " syn_tail_drop %llu");
	print_u32_attr(tb[TCA_REDFAVOR_XSTATS_SYN_QLEN], "syn_qlen",
		       " syn_backlog %up");
	print_u32_attr(tb[TCA_REDFAVOR_XSTATS_SYN_BACKLOG], "syn_backlog",
		       " %ub");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_SYN_TOOLONG], "syn_toolong",
		       " syn_toolong %llu");
	print_u64_attr(tb[TCA_REDFAVOR_XSTATS_SYN_OVERSHARE], "syn_overshare",
		       " syn_overshare %llu");
	print_nl();
	print_u32_attr(tb[TCA_REDFAVOR_XSTATS_QAVG], "qavg", "  average %ub");
	if (tb[TCA_REDFAVOR_XSTATS_MAX_P])
		print_float(PRINT_ANY, "max_p", " max_p %lg",
			    get_u32_attr(tb[TCA_REDFAVOR_XSTATS_MAX_P]) /
				    4294967296.0);
	return 0;
}

struct qdisc_util redfavor_qdisc_util = {
	.id = "redfavor",
	.parse_qopt = redfavor_parse_opt,
	.print_qopt = redfavor_print_opt,
	.print_xstats = redfavor_print_xstats,
};
