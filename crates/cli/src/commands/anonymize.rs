//! `--anonymize`: where the key comes from.

use anyhow::Context;
use argon2::{Algorithm, Argon2, Params, Version};
use gentle_trace::Anonymizer;

/// The same for everybody, so that a passphrase alone says which addresses become which.
const SALT: &[u8] = b"gentle analyze --anonymize";

/// Replaces addresses under a key made of `passphrase`, or, without one, under a random key that nobody keeps.
pub(super) fn anonymizer(passphrase: Option<&str>) -> anyhow::Result<Anonymizer> {
    let key = match passphrase {
        Some(passphrase) => derived(passphrase)?,
        None => random()?,
    };
    Anonymizer::new(key).context("--anonymize: no key can be made of this passphrase")
}

fn random() -> anyhow::Result<[u8; Anonymizer::KEY_BYTES]> {
    let mut key = [0; Anonymizer::KEY_BYTES];
    getrandom::fill(&mut key).context("--anonymize: the system gives no random key")?;
    Ok(key)
}

/// By Argon2id at RFC 9106's second recommended option (section 4: 3 passes over 64 MiB, 4 lanes), so that a passphrase
/// cannot be found out quickly from an address whose original is known.
fn derived(passphrase: &str) -> anyhow::Result<[u8; Anonymizer::KEY_BYTES]> {
    let mut key = [0; Anonymizer::KEY_BYTES];
    Params::new(64 * 1024, 3, 4, Some(key.len()))
        .and_then(|params| {
            Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into(
                passphrase.as_bytes(),
                SALT,
                &mut key,
            )
        })
        .map_err(|error| {
            anyhow::anyhow!("--anonymize: no key can be made of this passphrase: {error}")
        })?;
    Ok(key)
}
