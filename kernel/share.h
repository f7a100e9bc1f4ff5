/* SPDX-License-Identifier: GPL-2.0-only */
/* Limit on the share of bytes that priority packets may take from waiting data,
 * against floods of SYNs.
 *
 * A token bucket: while data waits, a priority packet of L bytes costs
 * L * (100 - percent) tokens, and a data packet of L bytes earns L * percent.
 * Tokens are left as long as priority packets take at most percent of all bytes
 * plus one SHARE_BURST. Handshakes of real traffic never exhaust them.
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

/**
 * struct share - token bucket of priority packets
 * @credit: tokens, hundredths of a byte
 * @max_credit: maximum of @credit
 * @percent: 1 to 100; 100: no limit
 */
struct share {
	s64	credit;
	s64	max_credit;
	u8	percent;
};

/* Starts with a full bucket. */
static inline void share_init(struct share *s, u8 percent)
{
	WRITE_ONCE(s->percent, percent);
	s->max_credit = (s64)SHARE_BURST * (100 - percent);
	s->credit = s->max_credit;
}

/* A new percentage fills the bucket; the current one has no effect. */
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
