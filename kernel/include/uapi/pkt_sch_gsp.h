/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Options and statistics of the gsp qdisc on netlink. */
#ifndef PKT_SCH_GSP_H
#define PKT_SCH_GSP_H

#include <linux/types.h>

/*
 * Options, in TCA_OPTIONS. Absent options keep their value; in a new qdisc they
 * have their default.
 */
enum {
	TCA_GSP_UNSPEC,
	TCA_GSP_PAD,
	/* The threshold: one of three. Default: a delay of 10 ms. */
	TCA_GSP_THRESHOLD_DELAY,	/* u64: ns, 1 us to 10 s */
	TCA_GSP_THRESHOLD_BYTES,	/* u32: 1 to 2^30, < LIMIT_BYTES */
	TCA_GSP_THRESHOLD_PACKETS,	/* u32: 1 to 1000000, < LIMIT */
	TCA_GSP_INTERVAL,		/* u64: ns, 1 us to 60 s; 200 ms */
	TCA_GSP_MODE,			/* u32: enum gsp_mode; adaptive */
	TCA_GSP_ALPHA,			/* u32: 1 to 64; 2 */
	TCA_GSP_TAU,			/* u64: ns, 1 us to 600 s; 5 intervals */
	TCA_GSP_MAXTIME,		/* u64: ns, 0 to 60000 s; 99 tau */
	TCA_GSP_LIMIT,			/* u32: packets, 1 to 1000000; 1000 */
	TCA_GSP_LIMIT_BYTES,		/* u32: bytes, 1 to 2^30; 2^30 */
	__TCA_GSP_MAX,
};

#define TCA_GSP_MAX (__TCA_GSP_MAX - 1)

enum gsp_mode {
	GSP_MODE_BASIC,		/* the interval is constant */
	GSP_MODE_ADAPTIVE,	/* the interval shrinks above the threshold */
};

/* Recovery from an overflow of the queue. */
enum gsp_overflow {
	GSP_OVERFLOW_NONE,	/* no overflow, or recovery is complete */
	GSP_OVERFLOW_HAPPENED,	/* not empty since the overflow */
	GSP_OVERFLOW_DRAINED,	/* empty since, but not above the threshold */
};

/* Statistics, in TCA_STATS_APP. */
enum {
	TCA_GSP_XSTATS_UNSPEC,
	TCA_GSP_XSTATS_PAD,
	TCA_GSP_XSTATS_EARLY_DROP,	/* u64: packets dropped by GSP */
	TCA_GSP_XSTATS_TAIL_DROP,	/* u64: the queue was full */
	TCA_GSP_XSTATS_INTERVAL,	/* u64: ns from one drop to the next */
	TCA_GSP_XSTATS_CUMUL,		/* u64: ns, shortens the interval */
	TCA_GSP_XSTATS_EXPIRY,		/* u64: ns until GSP may drop; 0: now */
	TCA_GSP_XSTATS_DELAY,		/* u64: ns, of the head; 0: no delay */
	TCA_GSP_XSTATS_ABOVE,		/* u32: 1: above the threshold */
	TCA_GSP_XSTATS_OVERFLOW,	/* u32: enum gsp_overflow */
	__TCA_GSP_XSTATS_MAX,
};

#define TCA_GSP_XSTATS_MAX (__TCA_GSP_XSTATS_MAX - 1)

#endif
