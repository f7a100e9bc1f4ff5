/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Options and statistics of the redfavor qdisc on netlink. */
#ifndef PKT_SCH_REDFAVOR_H
#define PKT_SCH_REDFAVOR_H

#include <linux/types.h>
#include <linux/pkt_sched.h>

/*
 * Options, in TCA_OPTIONS. QTH_MIN, QTH_MAX, WLOG, SCELL_LOG and STAB describe
 * the average: a new qdisc needs all five, a change has all or none. Other
 * options keep their value if absent; in a new qdisc they have a default.
 */
enum {
	TCA_REDFAVOR_UNSPEC,
	TCA_REDFAVOR_LIMIT,	/* u32: bytes, 1 to 2^30; 75000 */
	TCA_REDFAVOR_QTH_MIN,	/* u32: bytes, below QTH_MAX */
	TCA_REDFAVOR_QTH_MAX,	/* u32: bytes, QTH_MAX << WLOG below 2^31 */
	TCA_REDFAVOR_WLOG,	/* u32: 1 to 30; the average weighs 2^-WLOG */
	TCA_REDFAVOR_SCELL_LOG,	/* u32: 0 to 24; a cell of STAB is 2^this us */
	TCA_REDFAVOR_STAB,	/* u8[256], each below 32: decay while idle */
	TCA_REDFAVOR_MAX_P,	/* u32: of 2^32, not 0; 85899345, which is 2 % */
	TCA_REDFAVOR_FLAGS,	/* bitfield32: TC_REDFAVOR_FLAGS; none */
	TCA_REDFAVOR_MAXLEN,	/* u32: IP length of the longest SYN; 0: any; 127 */
	TCA_REDFAVOR_SHARE,	/* u32: percent of the bytes for SYNs, 1 to 100; 25 */
	__TCA_REDFAVOR_MAX,
};

#define TCA_REDFAVOR_MAX (__TCA_REDFAVOR_MAX - 1)

#define TC_REDFAVOR_STAB_SIZE 256

/* RED neither drops nor marks protected SYNs. */
#define TC_REDFAVOR_EXEMPT 128

/* The meaning of the other flags is that in red. */
#define TC_REDFAVOR_FLAGS \
	(TC_RED_ECN | TC_RED_HARDDROP | TC_RED_ADAPTATIVE | TC_RED_NODROP | \
	 TC_REDFAVOR_EXEMPT)

/* Statistics, in TCA_STATS_APP. Standard packets are all but protected SYNs. */
enum {
	TCA_REDFAVOR_XSTATS_UNSPEC,
	TCA_REDFAVOR_XSTATS_PAD,
	/* u64: standard packets that were dropped */
	TCA_REDFAVOR_XSTATS_PROB_DROP,	/* at random, the average above min */
	TCA_REDFAVOR_XSTATS_FORCED_DROP, /* the average above max */
	TCA_REDFAVOR_XSTATS_TAIL_DROP,	/* the queue full */
	TCA_REDFAVOR_XSTATS_PUSH_OUT,	/* out of the queue, in place of a SYN */
	/* u64: protected SYNs */
	TCA_REDFAVOR_XSTATS_SYN_QUEUED,	/* put in front of all others */
	TCA_REDFAVOR_XSTATS_SYN_SAVED,	/* queued by pushing out another */
	TCA_REDFAVOR_XSTATS_SYN_EARLY_DROP, /* by RED, only SYNs in the queue */
	TCA_REDFAVOR_XSTATS_SYN_TAIL_DROP, /* the queue full of SYNs */
	/* u64: packets marked instead of dropped */
	TCA_REDFAVOR_XSTATS_PROB_MARK,
	TCA_REDFAVOR_XSTATS_FORCED_MARK,
	/* u64: SYNs that were standard packets */
	TCA_REDFAVOR_XSTATS_SYN_TOOLONG, /* longer than maxlen */
	TCA_REDFAVOR_XSTATS_SYN_OVERSHARE, /* beyond the share */

	TCA_REDFAVOR_XSTATS_QAVG,	/* u32: average queue, bytes */
	TCA_REDFAVOR_XSTATS_MAX_P,	/* u32: of 2^32, as adapted */
	TCA_REDFAVOR_XSTATS_SYN_QLEN,	/* u32: protected SYNs that wait */
	TCA_REDFAVOR_XSTATS_SYN_BACKLOG, /* u32: their bytes */
	__TCA_REDFAVOR_XSTATS_MAX,
};

#define TCA_REDFAVOR_XSTATS_MAX (__TCA_REDFAVOR_XSTATS_MAX - 1)

#endif
