/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Replacements of the kernel's headers for programs in BPF, on which ../ages.h
 * relies; gentle.bpf.c and crates/deploy/bpf/ages.c include this file
 */
#ifndef GENTLE_BPF_PROGRAM_H
#define GENTLE_BPF_PROGRAM_H

#include <linux/types.h>

#define SEC(name) __attribute__((section(name), used))
#define inline inline __attribute__((always_inline))
/* Calls gain nothing here: there is one of each such function. */
#define noinline inline

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) ({ type a_ = (a), b_ = (b); min(a_, b_); })
#define div_u64(dividend, divisor) ((dividend) / (divisor))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define htons(number) __builtin_bswap16(number)
#define htonl(number) __builtin_bswap32(number)
#else
#define htons(number) (number)
#define htonl(number) (number)
#endif

#define ETH_P_IP		0x0800
#define ETH_P_IPV6		0x86dd
#define IPPROTO_TCP		6
#define IPPROTO_UDP		17

/* Number of the highest bit that is set, counted from one; 0 if none is. */
static inline int fls(u32 bits)
{
	int n = 0;

	for (; bits; bits >>= 1)
		n++;
	return n;
}

static inline bool has_ports(u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

/* SipHash-1-3 (Aumasson and Bernstein 2012), as the kernel's hsiphash(). */

static inline u64 rotate(u64 word, int bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void sip_round(u64 v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static inline u32 siphash_1_3(const u64 key[2], const u64 *words, int n)
{
	u64 v[4] = {
		key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
		key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL,
	};
	u64 last = (u64)n * 8 << 56;

	for (int i = 0; i < n; i++) {
		v[3] ^= words[i];
		sip_round(v);
		v[0] ^= words[i];
	}
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
