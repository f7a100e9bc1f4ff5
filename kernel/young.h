/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ages of flows and their use: levels, the clock that makes flows younger, and
 * the number of levels that count as young.
 *
 * The age of a flow is the number of bytes sent beyond its fair share. While
 * packets of it wait, each sent byte makes it older. While none wait, it grows
 * younger by the bytes that a flow in round robin with all waiting flows would
 * have sent: a clock in bytes, which each packet advances by its length divided
 * by the number of waiting flows.
 *
 * Serving the young first helps where a flow that has sent little is likely to
 * end soon, and only there. So the queue counts how many flows reach each
 * level. The levels of short flows are young as long as some of the flows that
 * reach them end there. For an older level the flows that end in it, for each
 * byte that is sent in it, are compared with those that end later.
 */
#ifndef YOUNG_H
#define YOUNG_H

#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* A full frame: the end of the first level, and the bytes of a turn. */
#define GENTLE_QUANTUM	1514

/* Each level but the first begins at twice the bytes of the one before. */
#define GENTLE_LEVELS	11
#define GENTLE_OLDEST	(GENTLE_QUANTUM << GENTLE_LEVELS)

/* Levels of short flows, 12 kB. They are young until sizes show otherwise: of
 * this many flows at least, less than one in GENTLE_PART ends there.
 */
#define GENTLE_SHORT	4
#define GENTLE_ENOUGH	64
#define GENTLE_PART	16

/* The clock's units of a byte. */
#define GENTLE_FRACTIONS 16

/* Counts of sizes: by how many times more flows have to end in a level than
 * later, for each byte; flows that must reach a level before it is evidence;
 * new flows after which counts are halved, and levels judged.
 */
#define GENTLE_RATIO	3
#define GENTLE_FEWEST	8
#define GENTLE_MEMORY	512
#define GENTLE_EACH	16
#define GENTLE_SIZE_UNIT 32
#define GENTLE_SIZE_MOST BIT_ULL(40)

struct gentle_sizes {
	u64	older;		/* bytes of flows beyond the last level */
	u32	reached[GENTLE_LEVELS + 2];	/* by level, from 1 */
	u32	young;		/* levels */
};

/* The level of a flow that has sent so many bytes, from 1. */
static inline u32 gentle_level(u32 bytes)
{
	u32 quanta = bytes / GENTLE_QUANTUM;

	return quanta ? min(ilog2(quanta) + 2, GENTLE_LEVELS + 1) : 1;
}

/* Bytes that a young flow sends in a turn: no more than a frame, and none
 * beyond its level.
 */
static inline u32 gentle_turn_in_level(u32 age)
{
	u32 end = GENTLE_QUANTUM << (gentle_level(age) - 1);

	return min(end - age, (u32)GENTLE_QUANTUM);
}

static noinline void gentle_judge_sizes(struct gentle_sizes *s)
{
	u64 bytes[GENTLE_LEVELS + 1], later = s->older;
	int level;

	/* Those that end in a level send half of it. */
	for (level = GENTLE_SHORT + 1; level <= GENTLE_LEVELS; level++) {
		bytes[level] = ((u64)GENTLE_QUANTUM << (level - 2)) *
			       (s->reached[level] + s->reached[level + 1]) / 2;
		later += bytes[level];
	}
	s->young = 1;
	for (level = 2; level <= GENTLE_LEVELS; level++) {
		u32 on = s->reached[level <= GENTLE_SHORT ? GENTLE_SHORT + 1 :
				    level + 1];
		u32 ended = s->reached[level] > on ? s->reached[level] - on : 0;

		if (level <= GENTLE_SHORT) {
			if (s->reached[1] >= GENTLE_ENOUGH &&
			    ended * GENTLE_PART < s->reached[level])
				break;
		} else {
			later -= bytes[level];
			if (s->reached[level] < GENTLE_FEWEST || !ended ||
			    ended * later <
			    (u64)GENTLE_RATIO * on * bytes[level])
				break;
		}
		s->young = level;
	}
	if (s->reached[1] >= GENTLE_MEMORY) {
		s->older /= 2;
		for (level = 1; level <= GENTLE_LEVELS + 1; level++)
			s->reached[level] /= 2;
	}
}

/* A flow, which has sent *size units, sends a packet. */
static inline void gentle_count_size(struct gentle_sizes *s, u16 *size,
				     u32 bytes)
{
	bool new = !*size;
	u32 from, to;

	if (*size == U16_MAX) {
		s->older = min(s->older + bytes, GENTLE_SIZE_MOST);
		return;
	}
	from = new ? 0 : gentle_level(*size * GENTLE_SIZE_UNIT);

	*size = min_t(u32, *size + DIV_ROUND_UP(bytes, GENTLE_SIZE_UNIT),
		      U16_MAX);
	to = gentle_level(*size * GENTLE_SIZE_UNIT);
	while (from < to)
		s->reached[++from]++;
	if (to > GENTLE_LEVELS)
		s->older = min(s->older + bytes, GENTLE_SIZE_MOST);
	if (new && s->reached[1] % GENTLE_EACH == 0)
		gentle_judge_sizes(s);
}

#endif
