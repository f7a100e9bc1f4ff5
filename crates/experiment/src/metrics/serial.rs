//! Serialisation of counters in run records.

/// Writes counters by name; counters of zero are left out.
fn named<S: serde::Serializer>(names: &[&str], counts: &[u64], to: S) -> Result<S::Ok, S::Error> {
    let named = names.iter().zip(counts);
    to.collect_map(named.filter(|(_, count)| **count > 0))
}

/// Reads counters by name; missing counters are zero, unknown names are refused.
fn counts<'de, D: serde::Deserializer<'de>, const N: usize>(names: &[&str; N], from: D) -> Result<[u64; N], D::Error> {
    use serde::{Deserialize, de::Error};
    let named = std::collections::BTreeMap::<String, u64>::deserialize(from)?;
    let mut counts = [0; N];
    for (name, count) in named {
        let index = names.iter().position(|known| *known == name);
        let index = index.ok_or_else(|| D::Error::custom(format!("unknown counter '{name}'")))?;
        counts[index] = count;
    }
    Ok(counts)
}

/// Counters by [`Class`](crate::Class).
pub(super) mod by_class {
    use crate::metrics::class::Class;
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(counts: &[u64; Class::COUNT], to: S) -> Result<S::Ok, S::Error> {
        super::named(&Class::NAMES, counts, to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; Class::COUNT], D::Error> {
        super::counts(&Class::NAMES, from)
    }
}

/// Counters by reason for a loss.
pub(super) mod by_reason {
    use crate::metrics::class::REASONS;
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(counts: &[u64; REASONS.len()], to: S) -> Result<S::Ok, S::Error> {
        super::named(&REASONS, counts, to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; REASONS.len()], D::Error> {
        super::counts(&REASONS, from)
    }
}
