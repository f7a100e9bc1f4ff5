//! What the kernel knows besides the packet: the device's MTU, and the memory a packet occupies.

/// The largest frame of an Ethernet device in bytes, header included (Linux: `psched_mtu`): 1500 + 14.
pub(crate) const MTU: u32 = 1514;

/// `sizeof(struct sk_buff)` on 64-bit machines, rounded up to cache lines.
const SK_BUFF: u64 = 256;
/// Bytes reserved in front of the packet (`NET_SKB_PAD`).
const HEADROOM: u64 = 64;
/// `sizeof(struct skb_shared_info)` behind the packet, rounded up to cache lines.
const SHARED_INFO: u64 = 320;

/// Memory in bytes that a packet of `bytes` bytes is charged for (Linux: `skb->truesize`).
///
/// What a driver really allocates differs from device to device. The model is a linear buffer from the kernel's
/// general-purpose caches, which come in powers of two: 2304 bytes for a full frame, 768 for a bare TCP ACK.
pub fn truesize(bytes: u32) -> u64 {
    SK_BUFF + (HEADROOM + u64::from(bytes) + SHARED_INFO).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_and_an_ack_cost_what_a_linear_buffer_costs() {
        assert_eq!(truesize(MTU), 2304);
        assert_eq!(truesize(54), 768);
    }
}
