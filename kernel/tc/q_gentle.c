// SPDX-License-Identifier: GPL-2.0-only
/* Plug-in of tc(8) for the qdisc gentle. */

#include <string.h>

#include "attributes.h"
#include "iproute2.h"
#include "pkt_sch_gentle.h"

#define MS 1000000LL
#define S (1000LL * MS)

/* enum gentle_hosts */
static const char *const hosts_words[] = { "none", "src", "dst" };
#define HOSTS_WORDS (sizeof(hosts_words) / sizeof(*hosts_words))

static void explain(void)
{
	fprintf(stderr,
		"Usage: ... gentle [ limit TIME ] [ memory_limit BYTES ]\n"
		"                  [ bands NUMBER ] [ first BYTES ] [ weight NUMBER ]\n"
		"                  [ forgive PERCENT ] [ flows NUMBER ] [ ecn | noecn ]\n"
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

static int put_limit(struct nlmsghdr *n, const char *arg)
{
	__s64 ns;

	if (!get_time64(&ns, arg) && ns >= MS && ns <= 10 * S) {
		__u64 value = ns;

		return addattr_l(n, MAX_MSG, TCA_GENTLE_LIMIT, &value,
				 sizeof(value));
	}
	return expected("gentle", "limit", "a time, 1ms to 10s", arg);
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
		return put_limit(n, arg);
	if (!strcmp(option, "memory_limit"))
		return put_bytes(n, TCA_GENTLE_MEMORY_LIMIT, option, arg, 1514,
				 1U << 31);
	if (!strcmp(option, "bands"))
		return put_number(n, TCA_GENTLE_BANDS, option, arg, 2,
				  GENTLE_MAX_BANDS);
	if (!strcmp(option, "first"))
		return put_bytes(n, TCA_GENTLE_FIRST, option, arg, 64, 65536);
	if (!strcmp(option, "weight"))
		return put_number(n, TCA_GENTLE_WEIGHT, option, arg, 1, 1000);
	if (!strcmp(option, "forgive"))
		return put_number(n, TCA_GENTLE_FORGIVE, option, arg, 0, 1000);
	if (!strcmp(option, "flows"))
		return put_number(n, TCA_GENTLE_FLOWS, option, arg, 8, 65536);
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

	if (tb[TCA_GENTLE_LIMIT]) {
		__u64 ns = get_u64_attr(tb[TCA_GENTLE_LIMIT]);

		print_u64(PRINT_JSON, "limit_ns", NULL, ns);
		print_u64(PRINT_FP, NULL, "limit %lluus ", ns / 1000);
	}
	print_u32_attr(tb[TCA_GENTLE_MEMORY_LIMIT], "memory_limit",
		       "memory_limit %ub ");
	print_u32_attr(tb[TCA_GENTLE_BANDS], "bands", "bands %u ");
	print_u32_attr(tb[TCA_GENTLE_FIRST], "first", "first %ub ");
	print_u32_attr(tb[TCA_GENTLE_WEIGHT], "weight", "weight %u ");
	print_u32_attr(tb[TCA_GENTLE_FORGIVE], "forgive", "forgive %u ");
	print_u32_attr(tb[TCA_GENTLE_FLOWS], "flows", "flows %u ");
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
	struct tc_gentle_xstats st;

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	copy_attr(&st, sizeof(st), xstats);
	print_u64(PRINT_ANY, "push_out", "  push_out %llu", st.push_out);
	print_u64(PRINT_ANY, "ecn_mark", " ecn_mark %llu", st.ecn_mark);
	print_u64(PRINT_ANY, "rate", " rate %llu", st.rate);
	print_u64(PRINT_ANY, "room_ns", " room_ns %llu", st.room_ns);
	print_uint(PRINT_ANY, "limit_bytes", " limit_bytes %u", st.limit_bytes);
	print_uint(PRINT_ANY, "share", " share %u", st.share);
	print_nl();
	print_string(PRINT_FP, NULL, "  %s", "bytes in bands:");
	open_json_array(PRINT_JSON, "bytes_in_bands");
	for (int i = 0; i < GENTLE_MAX_BANDS; i++)
		print_uint(PRINT_ANY, NULL, " %u", st.backlog[i]);
	close_json_array(PRINT_JSON, NULL);
	return 0;
}

struct qdisc_util gentle_qdisc_util = {
	.id = "gentle",
	.parse_qopt = gentle_parse_opt,
	.print_qopt = gentle_print_opt,
	.print_xstats = gentle_print_xstats,
};
