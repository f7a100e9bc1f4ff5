//! Key of `--anonymize`.

use anyhow::Context;
use argon2::{Algorithm, Argon2, Params, Version};
use gentle_trace::Anonymizer;

/// Constant salt, so that the passphrase alone determines the replacement of addresses.
const SALT: &[u8] = b"gentle analyze --anonymize";

/// Anonymizer with a key derived from `passphrase`, or with a random key that is not kept.
pub(super) fn anonymizer(passphrase: Option<&str>) -> anyhow::Result<Anonymizer> {
    let key = match passphrase {
        Some(passphrase) => derived(passphrase)?,
        None => random()?,
    };
    Anonymizer::new(key).context("--anonymize: no key can be made of this passphrase")
}

fn random() -> anyhow::Result<[u8; Anonymizer::KEY_BYTES]> {
    let mut key = [0; Anonymizer::KEY_BYTES];
    getrandom::fill(&mut key).context("--anonymize: cannot get random numbers from the system")?;
    Ok(key)
}

/// Key derived with Argon2id, RFC 9106's second recommended option (section 4: 3 passes over 64 MiB, 4 lanes), so that
/// guessing the passphrase from an address with a known original is slow.
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
        .map_err(|error| anyhow::anyhow!("--anonymize: no key can be made of this passphrase: {error}"))?;
    Ok(key)
}
