/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* Options and statistics of the qdisc spa on netlink.
 *
 * All integers are in host byte order. New attributes go to the end of their
 * list.
 */
#ifndef _PKT_SCH_SPA_H
#define _PKT_SCH_SPA_H

/* Attributes in TCA_OPTIONS. Absent options keep their value; in a new qdisc
 * they have their default.
 */
enum {
	TCA_SPA_UNSPEC,
	TCA_SPA_FIN,		/* u32, TC_SPA_FIN_... */
	TCA_SPA_MAXLEN,		/* u32, IP length of the longest handshake packet */
	TCA_SPA_SHARE,		/* u32, percent of the bytes, while packets wait */
	__TCA_SPA_MAX
};

#define TCA_SPA_MAX	(__TCA_SPA_MAX - 1)

/* TCA_SPA_FIN */
enum {
	TC_SPA_FIN_NONE,	/* is data */
	TC_SPA_FIN_PRIORITY,	/* is served first */
	__TC_SPA_FIN_MAX
};

#define TC_SPA_FIN_MAX	(__TC_SPA_FIN_MAX - 1)

/* The classes. */
enum {
	TC_SPA_CLASS_PRIORITY = 1,
	TC_SPA_CLASS_DATA = 2,
};

/* Statistics in TCA_STATS_APP. */
enum {
	TCA_SPA_XSTATS_UNSPEC,
	TCA_SPA_XSTATS_PAD,
	TCA_SPA_XSTATS_SYN,		/* u64, SYNs that went to class 1 */
	TCA_SPA_XSTATS_FIN,		/* u64, FINs that went to class 1 */
	TCA_SPA_XSTATS_TOOLONG,		/* u64, of more than maxlen: data */
	TCA_SPA_XSTATS_OVERSHARE,	/* u64, beyond the share: data */
	TCA_SPA_XSTATS_FLOOD_DROP,	/* u64, beyond that: dropped */
	__TCA_SPA_XSTATS_MAX
};

#define TCA_SPA_XSTATS_MAX	(__TCA_SPA_XSTATS_MAX - 1)

#endif
