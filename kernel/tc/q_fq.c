// SPDX-License-Identifier: GPL-2.0-only
/* Plug-in of tc(8) for the qdisc fq with the bands of Linux 6.7 and later, for
 * a tc that does not know them: iproute2 has them since 6.7. Options are those
 * of tc-fq(8), without timer_slack and offload_horizon.
 */

#include <string.h>
#include <linux/pkt_sched.h>

#include "attributes.h"
#include "iproute2.h"

/* linux/pkt_sched.h since Linux 6.7 */
#define FQ_PRIOMAP	16
#define FQ_WEIGHTS	17
#define FQ_LAST		FQ_WEIGHTS
#define BANDS		3

/* struct tc_fq_qd_stats; older kernels send less, which is read as zero */
struct fq_stats {
	__u64 gc_flows;
	__u64 highprio_packets;
	__u64 tcp_retrans;
	__u64 throttled;
	__u64 flows_plimit;
	__u64 pkts_too_long;
	__u64 allocation_errors;
	__s64 time_next_delayed_flow;
	__u32 flows;
	__u32 inactive_flows;
	__u32 throttled_flows;
	__u32 unthrottle_latency_ns;
	__u64 ce_mark;
	__u64 horizon_drops;
	__u64 horizon_caps;
	__u64 fastpath_packets;
	__u64 band_drops[BANDS];
};

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... fq [ limit PACKETS ] [ flow_limit PACKETS ]\n"
		"              [ quantum BYTES ] [ initial_quantum BYTES ]\n"
		"              [ maxrate RATE ] [ buckets NUMBER ] [ [no]pacing ]\n"
		"              [ refill_delay TIME ] [ low_rate_threshold RATE ]\n"
		"              [ orphan_mask MASK ] [ ce_threshold TIME ]\n"
		"              [ horizon TIME ] [ horizon_{cap|drop} ]\n"
		"              [ bands 3 priomap P0 P1 ... P15 ] [ weights W1 W2 W3 ]\n");
}

static int put_number(struct nlmsghdr *n, int attr, const char *option,
		      const char *arg)
{
	unsigned int value;

	if (*arg == '-' || get_unsigned(&value, arg, 0))
		return expected("fq", option, "a whole number", arg);
	return put_u32(n, attr, value);
}

static int put_buckets(struct nlmsghdr *n, const char *arg)
{
	unsigned int value, log = 0;

	if (*arg == '-' || get_unsigned(&value, arg, 0) || !value)
		return expected("fq", "buckets", "a whole number", arg);
	while (log < 31 && 1U << log < value)
		log++;
	return put_u32(n, TCA_FQ_BUCKETS_LOG, log);
}

static int put_rate(struct nlmsghdr *n, int attr, const char *option,
		    const char *arg)
{
	unsigned int value;

	if (get_rate(&value, arg))
		return expected("fq", option, "a rate", arg);
	return put_u32(n, attr, value);
}

static int put_time(struct nlmsghdr *n, int attr, const char *option,
		    const char *arg)
{
	__s64 ns;

	if (get_time64(&ns, arg) || ns < 0 || ns / 1000 > UINT32_MAX)
		return expected("fq", option, "a time", arg);
	return put_u32(n, attr, ns / 1000);
}

/* Reads the numbers of an option; returns false if there are too few. */
static bool read_numbers(unsigned int *numbers, int count, int argc, char **argv)
{
	int i;

	for (i = 0; i < count; i++)
		if (i >= argc || get_unsigned(&numbers[i], argv[i], 10))
			return false;
	return true;
}

static int put_priomap(struct nlmsghdr *n, int argc, char **argv)
{
	struct tc_prio_qopt map = { .bands = BANDS };
	unsigned int bands[TC_PRIO_MAX + 1];
	int i;

	if (argc < 2 || strcmp(argv[0], "3") || strcmp(argv[1], "priomap") ||
	    !read_numbers(bands, TC_PRIO_MAX + 1, argc - 2, argv + 2))
		return expected("fq", "bands", "3 priomap and 16 bands",
				argc ? argv[0] : "");
	for (i = 0; i <= TC_PRIO_MAX; i++) {
		if (bands[i] >= BANDS)
			return expected("fq", "priomap", "bands 0 to 2",
					argv[2 + i]);
		map.priomap[i] = bands[i];
	}
	return addattr_l(n, MAX_MSG, FQ_PRIOMAP, &map, sizeof(map));
}

static int put_weights(struct nlmsghdr *n, int argc, char **argv)
{
	unsigned int weights[BANDS];

	if (!read_numbers(weights, BANDS, argc, argv))
		return expected("fq", "weights", "three whole numbers",
				argc ? argv[0] : "");
	return addattr_l(n, MAX_MSG, FQ_WEIGHTS, weights, sizeof(weights));
}

/* Returns 1 if no option has this name. */
static int put_option(struct nlmsghdr *n, const char *option, const char *arg)
{
	if (!strcmp(option, "limit"))
		return put_number(n, TCA_FQ_PLIMIT, option, arg);
	if (!strcmp(option, "flow_limit"))
		return put_number(n, TCA_FQ_FLOW_PLIMIT, option, arg);
	if (!strcmp(option, "quantum"))
		return put_number(n, TCA_FQ_QUANTUM, option, arg);
	if (!strcmp(option, "initial_quantum"))
		return put_number(n, TCA_FQ_INITIAL_QUANTUM, option, arg);
	if (!strcmp(option, "orphan_mask"))
		return put_number(n, TCA_FQ_ORPHAN_MASK, option, arg);
	if (!strcmp(option, "buckets"))
		return put_buckets(n, arg);
	if (!strcmp(option, "maxrate"))
		return put_rate(n, TCA_FQ_FLOW_MAX_RATE, option, arg);
	if (!strcmp(option, "low_rate_threshold"))
		return put_rate(n, TCA_FQ_LOW_RATE_THRESHOLD, option, arg);
	if (!strcmp(option, "refill_delay"))
		return put_time(n, TCA_FQ_FLOW_REFILL_DELAY, option, arg);
	if (!strcmp(option, "ce_threshold"))
		return put_time(n, TCA_FQ_CE_THRESHOLD, option, arg);
	if (!strcmp(option, "horizon"))
		return put_time(n, TCA_FQ_HORIZON, option, arg);
	return 1;
}

static int fq_option(void *n, int argc, char **argv)
{
	const char *option = argv[0];

	if (!strcmp(option, "pacing"))
		return put_u32(n, TCA_FQ_RATE_ENABLE, 1) ? -1 : 1;
	if (!strcmp(option, "nopacing"))
		return put_u32(n, TCA_FQ_RATE_ENABLE, 0) ? -1 : 1;
	if (!strcmp(option, "horizon_drop"))
		return put_u8(n, TCA_FQ_HORIZON_DROP, 1) ? -1 : 1;
	if (!strcmp(option, "horizon_cap"))
		return put_u8(n, TCA_FQ_HORIZON_DROP, 0) ? -1 : 1;
	if (!strcmp(option, "bands"))
		return put_priomap(n, argc - 1, argv + 1) ? -1 :
							    3 + TC_PRIO_MAX + 1;
	if (!strcmp(option, "weights"))
		return put_weights(n, argc - 1, argv + 1) ? -1 : 1 + BANDS;
	return with_value(put_option(n, option, argc > 1 ? argv[1] : ""));
}

static int fq_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			struct nlmsghdr *n, const char *dev)
{
	struct rtattr *opts;

	opts = addattr_nest(n, MAX_MSG, TCA_OPTIONS);
	if (read_options("fq", argc, argv, fq_option, n, explain))
		return -1;
	addattr_nest_end(n, opts);
	return 0;
}

static int fq_print_opt(const struct qdisc_util *qu, FILE *f,
			struct rtattr *opt)
{
	struct rtattr *tb[FQ_LAST + 1];
	__u32 weights[BANDS];
	struct tc_prio_qopt map;
	int i;

	if (!opt)
		return 0;
	parse_rtattr_flags(tb, FQ_LAST, RTA_DATA(opt), RTA_PAYLOAD(opt),
			   NLA_F_NESTED);

	print_u32_attr(tb[TCA_FQ_PLIMIT], "limit", "limit %up ");
	print_u32_attr(tb[TCA_FQ_FLOW_PLIMIT], "flow_limit", "flow_limit %up ");
	print_u32_attr(tb[TCA_FQ_BUCKETS_LOG], "buckets_log", "buckets 2^%u ");
	print_u32_attr(tb[TCA_FQ_ORPHAN_MASK], "orphan_mask", "orphan_mask %u ");
	print_u32_attr(tb[TCA_FQ_QUANTUM], "quantum", "quantum %ub ");
	print_u32_attr(tb[TCA_FQ_INITIAL_QUANTUM], "initial_quantum",
		       "initial_quantum %ub ");
	print_u32_attr(tb[TCA_FQ_RATE_ENABLE], "pacing", "pacing %u ");
	print_u32_attr(tb[TCA_FQ_FLOW_MAX_RATE], "maxrate", "maxrate %uBps ");
	print_u32_attr(tb[TCA_FQ_LOW_RATE_THRESHOLD], "low_rate_threshold",
		       "low_rate_threshold %uBps ");
	print_u32_attr(tb[TCA_FQ_FLOW_REFILL_DELAY], "refill_delay",
		       "refill_delay %uus ");
	print_u32_attr(tb[TCA_FQ_CE_THRESHOLD], "ce_threshold",
		       "ce_threshold %uus ");
	print_u32_attr(tb[TCA_FQ_HORIZON], "horizon", "horizon %uus ");
	if (tb[FQ_PRIOMAP]) {
		copy_attr(&map, sizeof(map), tb[FQ_PRIOMAP]);
		print_string(PRINT_FP, NULL, "%s", "bands 3 priomap ");
		for (i = 0; i <= TC_PRIO_MAX; i++)
			print_uint(PRINT_FP, NULL, "%u ", map.priomap[i]);
	}
	if (tb[FQ_WEIGHTS]) {
		copy_attr(weights, sizeof(weights), tb[FQ_WEIGHTS]);
		print_string(PRINT_FP, NULL, "%s", "weights ");
		for (i = 0; i < BANDS; i++)
			print_uint(PRINT_FP, NULL, "%u ", weights[i]);
	}
	return 0;
}

static int fq_print_xstats(const struct qdisc_util *qu, FILE *f,
			   struct rtattr *xstats)
{
	struct fq_stats st;

	if (!xstats)
		return 0;
	copy_attr(&st, sizeof(st), xstats);

	print_uint(PRINT_ANY, "flows", "  flows %u ", st.flows);
	print_uint(PRINT_ANY, "inactive", "inactive %u ", st.inactive_flows);
	print_uint(PRINT_ANY, "throttled", "throttled %u ", st.throttled_flows);
	print_u64(PRINT_ANY, "gc", "gc %llu ", st.gc_flows);
	print_u64(PRINT_ANY, "flows_plimit", "flows_plimit %llu ",
		  st.flows_plimit);
	print_u64(PRINT_ANY, "fastpath", "fastpath %llu ", st.fastpath_packets);
	print_u64(PRINT_ANY, "ce_mark", "ce_mark %llu", st.ce_mark);
	print_nl();
	print_u64(PRINT_ANY, "band0_drops", "  band0_drops %llu ",
		  st.band_drops[0]);
	print_u64(PRINT_ANY, "band1_drops", "band1_drops %llu ",
		  st.band_drops[1]);
	print_u64(PRINT_ANY, "band2_drops", "band2_drops %llu",
		  st.band_drops[2]);
	return 0;
}

struct qdisc_util fq_qdisc_util = {
	.id = "fq",
	.parse_qopt = fq_parse_opt,
	.print_qopt = fq_print_opt,
	.print_xstats = fq_print_xstats,
};
