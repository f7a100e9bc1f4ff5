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
	TCA_REDFAVOR_SHARE,	/* u8: percent of the bytes for SYNs, 1 to 100; 25 */
	__TCA_REDFAVOR_MAX,
};

#define TCA_REDFAVOR_MAX (__TCA_REDFAVOR_MAX - 1)

#define TC_REDFAVOR_STAB_SIZE 256
#define TC_REDFAVOR_MAXLEN_MAX 65535

/* The meaning of the flags is that in red. */
#define TC_REDFAVOR_FLAGS \
	(TC_RED_ECN | TC_RED_HARDDROP | TC_RED_ADAPTATIVE | TC_RED_NODROP)

/* Statistics, in TCA_XSTATS and TCA_STATS_APP. Extended at the end only. */
struct tc_redfavor_xstats {
	/* Standard packets, all but protected SYNs, that were dropped: */
	__u64	prob_drop;	/* at random, the average above min */
	__u64	forced_drop;	/* the average above max */
	__u64	tail_drop;	/* the queue full */
	__u64	push_out;	/* out of the queue, in place of a SYN */
	/* Protected SYNs: */
	__u64	syn_queued;	/* put in front of all others */
	__u64	syn_saved;	/* queued by pushing out another packet */
	__u64	syn_early_drop;	/* by RED, nothing but SYNs in the queue */
	__u64	syn_tail_drop;	/* the queue full of SYNs */
	/* Packets marked instead of dropped: */
	__u64	prob_mark;
	__u64	forced_mark;

	__u32	qavg;		/* average queue, bytes */
	__u32	max_p;		/* of 2^32, as adapted */
	__u32	syn_qlen;	/* protected SYNs in the queue */
	__u32	syn_backlog;	/* bytes of protected SYNs in the queue */

	/* SYNs that were standard packets: */
	__u64	syn_toolong;	/* longer than maxlen */
	__u64	syn_overshare;	/* beyond the share */
};

#endif
