/* SPDX-License-Identifier: GPL-2.0-only */
/* A bound on what packets with priority may take from those that wait behind
 * them, so that a flood of SYNs cannot starve data.
 *
 * A bucket of credit: a packet of priority of L bytes costs L * (100 - percent)
 * where others wait, a packet of data of L bytes earns L * percent. Priority has
 * credit left as long as it takes at most percent of all bytes and SHARE_BURST
 * once; handshakes of real traffic never use it up.
 */
#ifndef GENTLE_SHARE_H
#define GENTLE_SHARE_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define SHARE_DEFAULT	25	/* percent */
#define SHARE_NO_BOUND	100

/* Bytes that priority may take at once: ten full frames, an initial window of
 * RFC 6928.
 */
#define SHARE_BURST	15140

/**
 * struct share - the credit of packets with priority
 * @credit: bytes x 100 that they may still take while others wait
 * @max_credit: what @credit never exceeds
 * @percent: 1 to 100; 100 is no bound
 */
struct share {
	s64	credit;
	s64	max_credit;
	u8	percent;
};

/* Begins with full credit. */
static inline void share_init(struct share *s, u8 percent)
{
	WRITE_ONCE(s->percent, percent);
	s->max_credit = (s64)SHARE_BURST * (100 - percent);
	s->credit = s->max_credit;
}

/* Another bound gives full credit; the one that is set already changes nothing. */
static inline void share_change(struct share *s, u8 percent)
{
	if (percent != s->percent)
		share_init(s, percent);
}

static inline bool share_is_used_up(const struct share *s)
{
	return s->credit <= 0 && s->percent < SHARE_NO_BOUND;
}

static inline void share_charge(struct share *s, unsigned int len)
{
	s->credit -= (s64)len * (100 - s->percent);
}

static inline void share_earn(struct share *s, unsigned int len)
{
	if (unlikely(s->credit < s->max_credit))
		s->credit = min(s->max_credit,
				s->credit + (s64)len * s->percent);
}

#endif
