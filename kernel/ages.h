/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Ages of flows: the bytes that each has sent, less what it has been forgiven
 *
 * Time is divided into periods of a second. At the end of each, every flow is
 * forgiven a part of the max-min fair share: what flows of age zero left of
 * the link, divided by the number of the others. An entry of the table of
 * flows stores the sum of all that was forgiven at which the flow's age is
 * zero, so that no entry is visited when a period ends, and an entry whose age
 * is zero is as good as an empty one.
 */
#ifndef GENTLE_AGES_H
#define GENTLE_AGES_H

/* Ages are at most GENTLE_OLDEST, so that the shares of GENTLE_EXPIRY periods
 * fit into 31 bits. Periods are counted modulo 2^15.
 */
#define GENTLE_PERIOD		1000000000U	/* ns */
#define GENTLE_OLDEST		(1U << 21)
#define GENTLE_EXPIRY		1024
#define GENTLE_PERIODS		0x7fff

/* Entries of a set of the table, which is a line of the cache. */
#define GENTLE_WAYS		8

struct gentle_entry {
	u16	tag;
	/* Period in which the flow last sent, times two; one more if its age
	 * was not zero when it began to.
	 */
	u16	sent;
	u32	paid;		/* value of forgiven at which the age is zero */
};

struct gentle_ages {
	u32	oldest;			/* largest age, bytes */
	u32	forgiven;		/* sum over the periods */
	u16	period;
	u64	period_ends;		/* ns; 0: no packet so far */
	u32	indebted;		/* flows, in this period */
	u64	unindebted_bytes;	/* of other flows, in it */
	u32	share;			/* forgiven at the end of the last */
};

static inline u32 gentle_age(const struct gentle_ages *ages,
			     const struct gentle_entry *entry)
{
	s32 left = entry->paid - ages->forgiven;
	int silent;

	if (left <= 0)
		return 0;
	silent = (ages->period - (entry->sent >> 1)) & GENTLE_PERIODS;
	return silent <= GENTLE_EXPIRY ? left : 0;
}

/* Returns true if a packet that arrives now ends a period, or is the first. */
static inline bool gentle_period_is_over(const struct gentle_ages *ages,
					 u64 now)
{
	return now >= ages->period_ends;
}

/* Starts the next period. rate: of the link, bytes per second, 0 if unknown;
 * forgive: the part of the fair share in percent.
 */
static noinline void gentle_end_period(struct gentle_ages *ages, u64 now,
				       u64 rate, u32 forgive)
{
	u64 periods, share = ages->oldest;

	if (!ages->period_ends) {
		ages->period_ends = now + GENTLE_PERIOD;
		return;
	}
	periods = 1 + div_u64(now - ages->period_ends, GENTLE_PERIOD);
	ages->period_ends += periods * GENTLE_PERIOD;
	/* While the rate is unknown, no packet has waited: all is forgiven. */
	if (rate) {
		u64 left = rate - min(rate, ages->unindebted_bytes);

		share = div_u64(left, max(ages->indebted, 1U));
		share = div_u64(share * forgive, 100);
		share = min_t(u64, share, ages->oldest);
	}
	ages->share = share;
	ages->forgiven += share * min_t(u64, periods, GENTLE_EXPIRY);
	ages->period = (ages->period + periods) & GENTLE_PERIODS;
	ages->indebted = 0;
	ages->unindebted_bytes = 0;
}

/* Returns the age of a flow before this packet, and adds the packet. set: the
 * GENTLE_WAYS entries among which the flow's is; tag: another part of its hash.
 */
static inline u32 gentle_charge(struct gentle_ages *ages,
				struct gentle_entry *set, u16 tag, u32 bytes)
{
	struct gentle_entry *found = set;
	u32 before, least = ~0U;

	/* The flow's entry, else the one that is the least loss. */
	for (int i = 0; i < GENTLE_WAYS; i++) {
		struct gentle_entry *entry = &set[i];
		u32 age = gentle_age(ages, entry);

		if (age && entry->tag == tag) {
			found = entry;
			least = age;
			break;
		}
		if (age < least) {
			found = entry;
			least = age;
		}
	}
	before = found->tag == tag ? least : 0;
	if (found->tag != tag || found->sent >> 1 != ages->period) {
		found->tag = tag;
		found->sent = ages->period << 1 | (before > 0);
		ages->indebted += before > 0;
	}
	if (!(found->sent & 1))
		ages->unindebted_bytes += bytes;
	found->paid = ages->forgiven + min(before + bytes, ages->oldest);
	return before;
}

/* The band of a flow of this age, 0 the youngest: the first ends at the age
 * first, each further one at twice the age of the one before.
 */
static inline u32 gentle_band(u32 age, u32 first, u32 bands)
{
	return min_t(u32, fls(age / first), bands - 1);
}

#endif
