// SPDX-License-Identifier: GPL-2.0-only
/* Plug-in of tc(8) for the qdisc gsp. */

#include <ctype.h>
#include <string.h>

#include "attributes.h"
#include "iproute2.h"
#include "pkt_sch_gsp.h"

#define GSP_MAX_PACKETS 1000000
#define GSP_MAX_BYTES (1U << 30)

#define US 1000LL
#define S (1000000LL * US)

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... gsp [ threshold { TIME | BYTES | PACKETSp } ]\n"
		"               [ interval TIME ] [ mode { adaptive | basic } ]\n"
		"               [ alpha NUMBER ] [ tau TIME ] [ maxtime TIME ]\n"
		"               [ limit PACKETS ] [ limit_bytes BYTES ]\n");
}

static int put_u64(struct nlmsghdr *n, int attr, __u64 value)
{
	return addattr_l(n, MAX_MSG, attr, &value, sizeof(value));
}

static bool read_number(unsigned int *value, const char *arg, unsigned int max)
{
	return *arg != '-' && !get_unsigned(value, arg, 10) && *value >= 1 &&
	       *value <= max;
}

static bool read_size(unsigned int *value, const char *arg)
{
	return *arg != '-' && !get_size(value, arg) && *value >= 1 &&
	       *value <= GSP_MAX_BYTES;
}

static int put_number(struct nlmsghdr *n, int attr, const char *option,
		      const char *arg, unsigned int max)
{
	unsigned int value;
	char what[64];

	if (read_number(&value, arg, max))
		return put_u32(n, attr, value);
	snprintf(what, sizeof(what), "a whole number, 1 to %u", max);
	return expected("gsp", option, what, arg);
}

static int put_time(struct nlmsghdr *n, int attr, const char *option,
		    const char *arg, __s64 min, __s64 max)
{
	char what[64];
	__s64 ns;

	if (!get_time64(&ns, arg) && ns >= min && ns <= max)
		return put_u64(n, attr, ns);
	snprintf(what, sizeof(what), "a time, %s to %llds", min ? "1us" : "0s",
		 max / S);
	return expected("gsp", option, what, arg);
}

/* The unit selects the measure; a value without a unit is refused. */
static int put_threshold(struct nlmsghdr *n, const char *arg)
{
	size_t len = strlen(arg);
	char last = len ? arg[len - 1] : '0';
	unsigned int value;
	__s64 ns;

	if (last == 'p') {
		char digits[16];

		snprintf(digits, sizeof(digits), "%.*s", (int)(len - 1), arg);
		if (len <= sizeof(digits) &&
		    read_number(&value, digits, GSP_MAX_PACKETS))
			return put_u32(n, TCA_GSP_THRESHOLD_PACKETS, value);
	} else if (!isdigit((unsigned char)last) && last != '.') {
		if (!get_time64(&ns, arg)) {
			if (ns >= US && ns <= 10 * S)
				return put_u64(n, TCA_GSP_THRESHOLD_DELAY, ns);
		} else if (read_size(&value, arg)) {
			return put_u32(n, TCA_GSP_THRESHOLD_BYTES, value);
		}
	}
	return expected("gsp", "threshold",
			"a time (1us to 10s), bytes (1b to 1gb) or packets (1p to 1000000p)",
			arg);
}

static int put_mode(struct nlmsghdr *n, const char *arg)
{
	if (!strcmp(arg, "adaptive"))
		return put_u32(n, TCA_GSP_MODE, GSP_MODE_ADAPTIVE);
	if (!strcmp(arg, "basic"))
		return put_u32(n, TCA_GSP_MODE, GSP_MODE_BASIC);
	return expected("gsp", "mode", "adaptive or basic", arg);
}

static int put_limit_bytes(struct nlmsghdr *n, const char *arg)
{
	unsigned int value;

	if (read_size(&value, arg))
		return put_u32(n, TCA_GSP_LIMIT_BYTES, value);
	return expected("gsp", "limit_bytes", "a size, 1b to 1gb", arg);
}

/* Returns 1 if no option has this name. */
static int put_option(struct nlmsghdr *n, const char *option, const char *arg)
{
	if (!strcmp(option, "threshold"))
		return put_threshold(n, arg);
	if (!strcmp(option, "interval"))
		return put_time(n, TCA_GSP_INTERVAL, option, arg, US, 60 * S);
	if (!strcmp(option, "mode"))
		return put_mode(n, arg);
	if (!strcmp(option, "alpha"))
		return put_number(n, TCA_GSP_ALPHA, option, arg, 64);
	if (!strcmp(option, "tau"))
		return put_time(n, TCA_GSP_TAU, option, arg, US, 600 * S);
	if (!strcmp(option, "maxtime"))
		return put_time(n, TCA_GSP_MAXTIME, option, arg, 0, 60000 * S);
	if (!strcmp(option, "limit"))
		return put_number(n, TCA_GSP_LIMIT, option, arg,
				  GSP_MAX_PACKETS);
	if (!strcmp(option, "limit_bytes"))
		return put_limit_bytes(n, arg);
	return 1;
}

static int gsp_option(void *n, int argc, char **argv)
{
	return with_value(put_option(n, argv[0], argc > 1 ? argv[1] : ""));
}

static int gsp_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			 struct nlmsghdr *n, const char *dev)
{
	struct rtattr *opts;

	opts = addattr_nest(n, MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	if (read_options("gsp", argc, argv, gsp_option, n, explain))
		return -1;
	addattr_nest_end(n, opts);
	return 0;
}

/* JSON: nanoseconds; text: the largest unit that needs no fraction. */
static void print_ns(const char *key, const char *name, __u64 ns)
{
	static const struct {
		__u64 ns;
		const char *name;
	} units[] = { { S, "s" }, { 1000 * US, "ms" }, { US, "us" }, { 1, "ns" } };
	char text[32];
	int i = 0;

	while (ns % units[i].ns || (!ns && units[i].ns > 1))
		i++;
	snprintf(text, sizeof(text), "%llu%s", ns / units[i].ns, units[i].name);
	print_u64(PRINT_JSON, key, NULL, ns);
	print_string(PRINT_FP, NULL, name, "");
	print_string(PRINT_FP, NULL, "%s ", text);
}

static void print_ns_attr(const struct rtattr *attr, const char *key,
			  const char *name)
{
	if (attr)
		print_ns(key, name, get_u64_attr(attr));
}

static int gsp_print_opt(const struct qdisc_util *qu, FILE *f,
			 struct rtattr *opt)
{
	struct rtattr *tb[TCA_GSP_MAX + 1];

	if (!opt)
		return 0;
	parse_rtattr_flags(tb, TCA_GSP_MAX, RTA_DATA(opt), RTA_PAYLOAD(opt),
			   NLA_F_NESTED);

	print_ns_attr(tb[TCA_GSP_THRESHOLD_DELAY], "threshold_ns",
		      "threshold %s");
	print_u32_attr(tb[TCA_GSP_THRESHOLD_BYTES], "threshold_bytes",
		       "threshold %ub ");
	print_u32_attr(tb[TCA_GSP_THRESHOLD_PACKETS], "threshold_packets",
		       "threshold %up ");
	print_ns_attr(tb[TCA_GSP_INTERVAL], "interval_ns", "interval %s");
	if (tb[TCA_GSP_MODE])
		print_string(PRINT_ANY, "mode", "mode %s ",
			     get_u32_attr(tb[TCA_GSP_MODE]) == GSP_MODE_BASIC ?
				     "basic" : "adaptive");
	print_u32_attr(tb[TCA_GSP_ALPHA], "alpha", "alpha %u ");
	print_ns_attr(tb[TCA_GSP_TAU], "tau_ns", "tau %s");
	print_ns_attr(tb[TCA_GSP_MAXTIME], "maxtime_ns", "maxtime %s");
	print_u32_attr(tb[TCA_GSP_LIMIT], "limit", "limit %up ");
	print_u32_attr(tb[TCA_GSP_LIMIT_BYTES], "limit_bytes",
		       "limit_bytes %ub ");
	return 0;
}

static int gsp_print_xstats(const struct qdisc_util *qu, FILE *f,
			    struct rtattr *xstats)
{
	static const char *const overflow[] = {
		[GSP_OVERFLOW_NONE] = "none",
		[GSP_OVERFLOW_HAPPENED] = "happened",
		[GSP_OVERFLOW_DRAINED] = "drained",
	};
	struct rtattr *tb[TCA_GSP_XSTATS_MAX + 1];
	__u32 state;

	if (!xstats)
		return 0;
	parse_rtattr_flags(tb, TCA_GSP_XSTATS_MAX, RTA_DATA(xstats),
			   RTA_PAYLOAD(xstats), NLA_F_NESTED);

	print_u64_attr(tb[TCA_GSP_XSTATS_EARLY_DROP], "early_drop",
		       "  early_drop %llu");
	print_u64_attr(tb[TCA_GSP_XSTATS_TAIL_DROP], "tail_drop",
		       " tail_drop %llu ");
	print_ns_attr(tb[TCA_GSP_XSTATS_INTERVAL], "interval_ns",
		      "interval %s");
	print_ns_attr(tb[TCA_GSP_XSTATS_CUMUL], "cumul_ns", "cumul %s");
	print_nl();
	print_ns_attr(tb[TCA_GSP_XSTATS_EXPIRY], "expiry_ns", "  expiry %s");
	print_ns_attr(tb[TCA_GSP_XSTATS_DELAY], "delay_ns", "delay %s");
	if (tb[TCA_GSP_XSTATS_ABOVE]) {
		state = get_u32_attr(tb[TCA_GSP_XSTATS_ABOVE]);
		print_bool(PRINT_JSON, "above", NULL, state);
		print_string(PRINT_FP, NULL, "%s ", state ? "above" : "below");
	}
	if (tb[TCA_GSP_XSTATS_OVERFLOW]) {
		state = get_u32_attr(tb[TCA_GSP_XSTATS_OVERFLOW]);
		print_string(PRINT_ANY, "overflow", "overflow %s",
			     state <= GSP_OVERFLOW_DRAINED ? overflow[state] :
							     "unknown");
	}
	return 0;
}

struct qdisc_util gsp_qdisc_util = {
	.id = "gsp",
	.parse_qopt = gsp_parse_opt,
	.print_qopt = gsp_print_opt,
	.print_xstats = gsp_print_xstats,
};
