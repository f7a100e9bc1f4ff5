//! Forms of addresses and maps in analysis records, which are JSON.

use gentle_wire::Address;
use serde::{Deserialize, Serialize};

/// Addresses as text: `192.0.2.1`.
pub(crate) mod address {
    use gentle_wire::Address;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;
    use std::net::IpAddr;

    pub(crate) fn serialize<S: Serializer>(address: &Address, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(address)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Address, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        let address: IpAddr = text.parse().map_err(D::Error::custom)?;
        Ok(address.into())
    }
}

/// Address in a list of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Host(#[serde(with = "address")] pub(crate) Address);

/// Maps as lists of pairs in the order of their keys, since keys of JSON objects are text. A map read back has each key
/// once; that of a forged record with a key twice keeps the last.
pub(crate) mod sorted {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::hash::Hash;

    pub(crate) fn serialize<'a, K, V, M, S>(map: M, to: S) -> Result<S::Ok, S::Error>
    where
        K: Ord + Serialize + 'a,
        V: Serialize + 'a,
        M: IntoIterator<Item = (&'a K, &'a V)>,
        S: Serializer,
    {
        let mut entries: Vec<(&K, &V)> = map.into_iter().collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
        to.collect_seq(entries)
    }

    pub(crate) fn deserialize<'de, K, V, M, D>(from: D) -> Result<M, D::Error>
    where
        K: Eq + Hash + Deserialize<'de>,
        V: Deserialize<'de>,
        M: FromIterator<(K, V)>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(from)?.into_iter().collect())
    }
}
