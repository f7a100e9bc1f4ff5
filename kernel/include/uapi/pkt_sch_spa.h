/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* Options and statistics of the qdisc spa on netlink.
 *
 * All integers are in host byte order, times in microseconds. Structures only
 * ever grow at their end.
 */
#ifndef _PKT_SCH_SPA_H
#define _PKT_SCH_SPA_H

#include <linux/types.h>

/* Attributes inside TCA_OPTIONS. One that is missing leaves its option as it
 * is, or, when the qdisc is made, at its default.
 */
enum {
	TCA_SPA_UNSPEC,
	TCA_SPA_TARGET,		/* u32, acceptable standing delay */
	TCA_SPA_INTERVAL,	/* u32, time above target before the first drop */
	TCA_SPA_LIMIT,		/* u32, packets in each queue */
	TCA_SPA_ECN,		/* u8, 1: mark instead of dropping */
	TCA_SPA_CE_THRESHOLD,	/* u32, delay above which all are marked */
	TCA_SPA_FIN,		/* u8, TC_SPA_FIN_... */
	TCA_SPA_MAXLEN,		/* u32, bytes of the longest handshake packet */
	TCA_SPA_HELD,		/* u32, FINs kept beside the data queue */
	TCA_SPA_SHARE,		/* u8, percent of the bytes, under load */
	TCA_SPA_MEMORY,		/* u32, bytes of buffers for each queue */
	__TCA_SPA_MAX
};

#define TCA_SPA_MAX	(__TCA_SPA_MAX - 1)

/* TCA_SPA_TARGET, TCA_SPA_INTERVAL, TCA_SPA_CE_THRESHOLD: CoDel's clock counts
 * 1024 ns in 31 bits.
 */
#define TC_SPA_TIME_MAX	2199023254U

/* TCA_SPA_CE_THRESHOLD: no such threshold. Never dumped. */
#define TC_SPA_CE_THRESHOLD_OFF	0xffffffffU

#define TC_SPA_MAXLEN_MAX	65535
#define TC_SPA_HELD_MAX		100000

/* TCA_SPA_FIN */
enum {
	TC_SPA_FIN_INORDER,	/* stays behind its data, and is not dropped */
	TC_SPA_FIN_PRIORITY,	/* is served first */
	TC_SPA_FIN_NONE,	/* is data */
	__TC_SPA_FIN_MAX
};

#define TC_SPA_FIN_MAX	(__TC_SPA_FIN_MAX - 1)

/* The classes. */
enum {
	TC_SPA_CLASS_PRIORITY = 1,
	TC_SPA_CLASS_DATA = 2,
};

/* Statistics of one queue. With a child qdisc in its place, those from
 * maxpacket on are zero: the child has its own.
 */
struct tc_spa_queue_xstats {
	__u64	enqueued;	/* packets taken */
	__u64	bytes;		/* bytes sent */
	__u64	sent;		/* packets sent */
	__u64	drop_limit;	/* refused: the queue was full */
	__u64	drop_memory;	/* refused: no memory was left to the queue */
	__u64	drop_child;	/* refused by the child */
	__u64	drop_change;	/* lost to a change of options, child, link */
	__u64	drop_codel;	/* dropped by CoDel at departure */
	__u32	qlen;		/* packets queued */
	__u32	backlog;	/* bytes queued */
	__u32	memory;		/* bytes of buffers in use */
	__u32	child;		/* 1: the queue is a child qdisc */
	__u32	maxpacket;	/* largest packet seen */
	__u32	count;		/* drops of CoDel since it began to drop */
	__u32	lastcount;	/* count when it last began */
	__u32	ldelay;		/* delay of the last packet */
	__s32	drop_next;	/* time until the next drop, while dropping */
	__u32	dropping;	/* 1: in the dropping state */
	__u32	ecn_mark;	/* packets marked instead of dropped */
	__u32	ce_mark;	/* packets marked for ce_threshold */
};

/* Statistics of the qdisc. */
struct tc_spa_qdisc_xstats {
	struct tc_spa_queue_xstats priority;
	struct tc_spa_queue_xstats data;
	__u64	syn;		/* SYNs that the priority queue took */
	__u64	fin_first;	/* FINs that the priority queue took */
	__u64	fin_spared;	/* FINs kept though the data queue dropped them */
	__u64	fin_paid;	/* packets dropped in their place */
	__u64	fin_refused;	/* FINs dropped: no room to keep them */
	__u64	toolong;	/* SYNs and FINs above maxlen, taken for data */
	__u64	held_back;	/* packets of data sent before waiting priority */
	__s64	credit;		/* of the priority queue, bytes x 100 */
	__u32	held;		/* FINs beside the data queue now */
	__u32	held_backlog;	/* their bytes */
};

/* Which of the two it is. */
enum {
	TC_SPA_XSTATS_QDISC,
	TC_SPA_XSTATS_CLASS,
};

struct tc_spa_xstats {
	__u32	type;
	__u32	pad;
	union {
		struct tc_spa_qdisc_xstats qdisc;
		struct tc_spa_queue_xstats queue;
	};
};

#endif
