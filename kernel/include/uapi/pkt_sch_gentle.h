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
	TCA_GENTLE_PAD,
	TCA_GENTLE_LIMIT,		/* u64: ns, 1 ms to 10 s; 140 ms */
	TCA_GENTLE_MEMORY_LIMIT,	/* u32: bytes, 1514 to 2^31; 2^25 */
	TCA_GENTLE_BANDS,		/* u32: 2 to 15; 10 */
	TCA_GENTLE_FIRST,		/* u32: bytes, 64 to 65536; 2048 */
	TCA_GENTLE_WEIGHT,		/* u32: 1 to 1000; 16 */
	TCA_GENTLE_FORGIVE,		/* u32: percent, 0 to 1000; 75 */
	TCA_GENTLE_FLOWS,		/* u32: 8 to 65536; 512 */
	TCA_GENTLE_ECN,			/* u32: 0 or 1; 1 */
	TCA_GENTLE_HOSTS,		/* u32: enum gentle_hosts; none */
	__TCA_GENTLE_MAX,
};

#define TCA_GENTLE_MAX (__TCA_GENTLE_MAX - 1)

#define GENTLE_MAX_BANDS 15

/* Hosts between which the link is divided equally. */
enum gentle_hosts {
	GENTLE_HOSTS_NONE,	/* they are not told apart */
	GENTLE_HOSTS_SRC,	/* by source address */
	GENTLE_HOSTS_DST,	/* by destination address */
};

/* Statistics, in TCA_XSTATS and TCA_STATS_APP. */
struct tc_gentle_xstats {
	__u64	push_out;	/* packets dropped to make room for others */
	__u64	ecn_mark;	/* packets marked */
	__u64	rate;		/* of the link, bytes per second; 0: unknown */
	__u64	room_ns;	/* current limit as a time */
	__u32	limit_bytes;	/* current limit */
	__u32	share;		/* bytes that flows were forgiven a second ago */
	__u32	backlog[GENTLE_MAX_BANDS];	/* bytes, youngest band first */
	__u32	pad;
};

#endif
