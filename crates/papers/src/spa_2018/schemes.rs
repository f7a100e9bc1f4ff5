//! Schemes of the testbed, by the names of the paper's figures.

pub(super) const PACKET_FIFO: &str = "packet FIFO";
pub(super) const BYTE_FIFO: &str = "byte FIFO";
pub(super) const RED: &str = "RED";
pub(super) const ARED: &str = "ARED";
pub(super) const REDFAVOR: &str = "REDFavor";
pub(super) const CODEL: &str = "CoDel";
pub(super) const CODEL_20: &str = "CoDel 20 ms";
pub(super) const FQ_CODEL: &str = "FQ-CoDel";
pub(super) const FQ_CODEL_20: &str = "FQ-CoDel 20 ms";
pub(super) const PIE: &str = "PIE";
pub(super) const SFQ: &str = "SFQ";
pub(super) const SYN_PRIO: &str = "SYN Prio";
pub(super) const SYN_FIN_PRIO: &str = "SYN/FIN Prio";
pub(super) const SPA: &str = "SPA";
/// The default of gentle, which the paper does not have: FINs are data.
pub(super) const SPA_SYN_ONLY: &str = "SPA, SYN only";

/// Schemes of the paper, in the order of its figures.
pub(super) const PUBLISHED: &[&str] = &[
    PACKET_FIFO,
    BYTE_FIFO,
    RED,
    ARED,
    REDFAVOR,
    CODEL,
    CODEL_20,
    FQ_CODEL,
    FQ_CODEL_20,
    PIE,
    SFQ,
    SYN_PRIO,
    SYN_FIN_PRIO,
    SPA,
];

/// AQMs without a preference for handshake packets, at the targets that the paper's sentences mean.
pub(super) const PLAIN_AQMS: &[&str] = &[RED, ARED, CODEL, PIE];

/// Schemes that lose a noticeable part of the SYNs.
pub(super) const WITHOUT_PROTECTION: &[&str] = &[PACKET_FIFO, RED, ARED, CODEL, CODEL_20, PIE];

/// SPA as published: FINs have priority, without a bound on length or share.
pub(super) const PUBLISHED_SPA: &str = "spa fin=priority maxlen=0 share=100";

/// PIE of Linux 3.18, the paper's router (`net/sched/sch_pie.c`): its law, a target of 20 ms and an update every 30 ms. RED, SFQ,
/// CoDel and FQ-CoDel of that version decide like today's in these set-ups.
const PIE_OF_LINUX_3_18: &str = "pie before_5_1 target=20ms tupdate=30ms";

const COMMON: &[(&str, &str)] = &[
    (PACKET_FIFO, "pfifo limit=50"),
    (BYTE_FIFO, "bfifo limit=75000"),
    (RED, "red limit=75000"),
    (ARED, "ared limit=75000"),
    (REDFAVOR, "redfavor limit=75000 maxlen=0 share=100"),
    (CODEL, "codel"),
    (CODEL_20, "codel target=20ms"),
    (FQ_CODEL, "fq_codel"),
    (FQ_CODEL_20, "fq_codel target=20ms"),
    (PIE, "pie"),
    (SFQ, "sfq"),
    (SYN_PRIO, "syn_prio limit=50 maxlen=0 share=100"),
    (SYN_FIN_PRIO, "syn_fin_prio limit=50 maxlen=0 share=100"),
    (SPA, PUBLISHED_SPA),
    (SPA_SYN_ONLY, "spa"),
];

/// Schemes as the paper's router has them.
pub(super) fn of_the_paper() -> Vec<(&'static str, &'static str)> {
    let schemes = COMMON.iter().map(|&(role, spec)| match role {
        PIE => (role, PIE_OF_LINUX_3_18),
        _ => (role, spec),
    });
    schemes.collect()
}

/// Schemes as a current Linux has them.
pub(super) fn of_today() -> Vec<(&'static str, &'static str)> {
    COMMON.to_vec()
}
