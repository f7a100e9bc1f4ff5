/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits on the bytes that handshake packets may take from waiting data, against
 * floods of SYNs.
 *
 * Two token buckets. Every packet of L bytes that is sent earns L * percent
 * tokens, and a handshake packet of L bytes that finds packets waiting costs
 * L * 100. As long as the first bucket has tokens, a handshake packet goes
 * first. Beyond that it is data, and earns and costs in the second bucket, in
 * which handshakes may have half of the rest. Beyond that it is refused.
 * Handshakes of real traffic never empty the first bucket. An empty queue takes
 * every packet: nothing else might ever fill the buckets.
 */
#ifndef GENTLE_SHARE_H
#define GENTLE_SHARE_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define SHARE_DEFAULT	25	/* percent */
#define SHARE_NO_BOUND	100

/* Burst of priority packets in bytes: ten full frames, the initial window of
 * RFC 6928.
 */
#define SHARE_BURST	15140

/* Tokens for a byte: percentages come in halves. */
#define SHARE_WHOLE	200
#define SHARE_FULL	((s64)SHARE_BURST * SHARE_WHOLE)

/* Where a handshake packet goes. */
enum share_verdict {
	SHARE_FIRST,
	SHARE_AS_DATA,
	SHARE_REFUSED,
};

/**
 * struct share - token buckets of handshake packets
 * @first: tokens of packets that go first
 * @all: tokens of all handshake packets
 * @percent: 1 to 100; 100: no limit
 */
struct share {
	s64	first;
	s64	all;
	u32	percent;
};

/* Starts with full buckets. */
static inline void share_init(struct share *s, u32 percent)
{
	WRITE_ONCE(s->percent, percent);
	s->first = SHARE_FULL;
	s->all = SHARE_FULL;
}

/* A new percentage fills the buckets; the current one has no effect. */
static inline void share_change(struct share *s, u32 percent)
{
	if (percent != s->percent)
		share_init(s, percent);
}

/* For a handshake packet that finds packets waiting or not. */
static inline enum share_verdict share_admit(struct share *s, unsigned int len,
					     bool waiting)
{
	s64 cost = (s64)len * SHARE_WHOLE;

	if (!waiting || s->percent >= SHARE_NO_BOUND)
		return SHARE_FIRST;
	if (s->first > 0) {
		s->first -= cost;
		s->all -= cost;
		return SHARE_FIRST;
	}
	if (s->all > 0) {
		s->all -= cost;
		return SHARE_AS_DATA;
	}
	return SHARE_REFUSED;
}

/* For every packet that is sent. */
static inline void share_earn(struct share *s, unsigned int len)
{
	if (likely(s->first >= SHARE_FULL && s->all >= SHARE_FULL))
		return;
	s->first = min(SHARE_FULL, s->first + 2 * (s64)len * s->percent);
	s->all = min(SHARE_FULL, s->all + (s64)len * (100 + s->percent));
}

#endif
