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
	GENTLE_HOSTS_NONE,	/* not distinguished */
	GENTLE_HOSTS_SRC,	/* by source address */
	GENTLE_HOSTS_DST,	/* by destination address */
};

/* Statistics, in TCA_STATS_APP. */
enum {
	TCA_GENTLE_XSTATS_UNSPEC,
	TCA_GENTLE_XSTATS_PAD,
	TCA_GENTLE_XSTATS_DROP_OVERLIMIT, /* u64: dropped beyond the limits */
	TCA_GENTLE_XSTATS_ECN_MARK,	/* u64: packets marked */
	TCA_GENTLE_XSTATS_FLOWS,	/* u32: flows that wait */
	TCA_GENTLE_XSTATS_YOUNG_LEVELS,	/* u32: levels of age that go first */
	TCA_GENTLE_XSTATS_MEMORY_USAGE,	/* u32: bytes */
	TCA_GENTLE_XSTATS_DEBT,		/* u32: us that young flows owe others */
	__TCA_GENTLE_XSTATS_MAX,
};

#define TCA_GENTLE_XSTATS_MAX (__TCA_GENTLE_XSTATS_MAX - 1)

#endif
