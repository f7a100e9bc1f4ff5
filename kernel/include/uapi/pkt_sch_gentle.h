/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Options and statistics of the gentle qdisc on netlink. */
#ifndef PKT_SCH_GENTLE_H
#define PKT_SCH_GENTLE_H

#include <linux/types.h>

/*
 * Options, in TCA_OPTIONS. Absent options keep their value; in a new qdisc they
 * have their default.
 */
enum {
	TCA_GENTLE_UNSPEC,
	TCA_GENTLE_LIMIT,		/* u32: packets; 10240 */
	TCA_GENTLE_FLOWS,		/* u32: 8 to 32768, not changed; 1024 */
	TCA_GENTLE_TARGET,		/* u32: us; 5000 */
	TCA_GENTLE_INTERVAL,		/* u32: us; 100000 */
	TCA_GENTLE_MEMORY_LIMIT,	/* u32: bytes, up to 2^31; 2^25 */
	TCA_GENTLE_ECN,			/* u32: 0 or 1; 1 */
	TCA_GENTLE_HOSTS,		/* u32: enum gentle_hosts; none */
	__TCA_GENTLE_MAX,
};

#define TCA_GENTLE_MAX (__TCA_GENTLE_MAX - 1)

/* Hosts between which the link is divided equally. */
enum gentle_hosts {
	GENTLE_HOSTS_NONE,	/* they are not told apart */
	GENTLE_HOSTS_SRC,	/* by source address */
	GENTLE_HOSTS_DST,	/* by destination address */
};

/* Statistics, in TCA_XSTATS and TCA_STATS_APP. */
struct tc_gentle_xstats {
	__u64	drop_overlimit;	/* packets dropped beyond the limits */
	__u64	ecn_mark;	/* packets marked */
	__u32	flows_len;	/* flows that wait */
	__u32	young_levels;	/* levels of age that go first */
	__u32	memory_usage;	/* bytes */
	__u32	debt;		/* us that young flows owe to others */
};

#endif
