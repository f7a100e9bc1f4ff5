//! Settings file of the wire engine: limits that few installations change.

use crate::input::read_text;
use anyhow::Context;
use gentle_experiment::ScenarioError;
use gentle_experiment::section::{Item, Source};
use gentle_rexmit::Config;
use gentle_units::Nanos;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::Path;

/// Longest settings file, bytes.
const MAX_LENGTH: usize = 1 << 20;

/// Replaces the values of `config` that the file sets.
///
/// # Errors
/// The file cannot be read, or a value is invalid.
pub(super) fn apply(path: &Path, config: &mut Config) -> anyhow::Result<()> {
    let file = path.display().to_string();
    let text = read_text(path, MAX_LENGTH).with_context(|| file.clone())?;
    Ok(set(config, &file, &text)?)
}

fn set(config: &mut Config, file: &str, text: &str) -> Result<(), ScenarioError> {
    let warnings = RefCell::default();
    let mut keys = Source { file, text, warnings: &warnings }.root()?;
    let short = Nanos::from_millis(1)..=Nanos::from_secs(60);
    if let Some(item) = keys.take("backoff") {
        config.timing.backoff = item.count(1..=8)? as u32;
    }
    if let Some(item) = keys.take("jitter") {
        config.timing.jitter_percent = item.count(0..=100)? as u8;
    }
    if let Some(item) = keys.take("age") {
        config.age = time(&item, Nanos::from_secs(1)..=Nanos::from_secs(30 * 86_400))?;
    }
    if let Some(item) = keys.take("duplicate") {
        config.duplicate = Some(time(&item, short.clone())?);
    }
    if let Some(item) = keys.take("budget") {
        config.limits.per_second = item.count(1..=1_000_000)? as u32;
    }
    if let Some(item) = keys.take("share") {
        config.limits.share_percent = item.count(1..=1_000)? as u32;
    }
    if let Some(item) = keys.take("give-up") {
        config.give_up = item.count(0..=u32::MAX.into())? as u32;
    }
    if let Some(item) = keys.take("table") {
        config.table = item.count(1..=16_777_216)? as usize;
    }
    if let Some(item) = keys.take("stack-rto") {
        config.stack_rto = time(&item, short)?;
    }
    keys.finish()
}

fn time(item: &Item<'_>, range: RangeInclusive<Nanos>) -> Result<Nanos, ScenarioError> {
    let time = item.time()?;
    match range.contains(&time) {
        true => Ok(time),
        false => Err(item.error(format!("expected {} to {}", range.start(), range.end()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_rexmit::{Limits, Selection, Timing};

    #[test]
    fn the_file_of_the_unit_has_all_settings_at_their_defaults() {
        let shipped = include_str!("../../../../../deploy/rexmit.toml");
        let mut config = Config::new(Selection::default());
        set(&mut config, "rexmit.toml", shipped).unwrap();
        assert_eq!(config, Config::new(Selection::default()));
        // Without the key, the default holds: no duplicate.
        let uncommented = shipped.lines().map(|line| line.strip_prefix('#').filter(|key| !key.starts_with(' ')));
        let uncommented: Vec<&str> = uncommented.flatten().collect();
        assert_eq!(uncommented.len(), 9, "{uncommented:?}");
        let uncommented = uncommented.join("\n");
        set(&mut config, "rexmit.toml", &uncommented).unwrap();
        let duplicate = config.duplicate.take();
        assert_eq!((duplicate, config), (Some(Nanos::from_millis(5)), Config::new(Selection::default())));
    }

    #[test]
    fn each_setting_has_its_effect() {
        let mut config = Config::new(Selection::default());
        let text = "backoff = 3\njitter = 5\nage = \"2h\"\nduplicate = \"7ms\"\nbudget = 9\nshare = 30\ngive-up = 0\n\
                    table = 77\nstack-rto = \"3s\"\n";
        set(&mut config, "a.toml", text).unwrap();
        let expected = Config {
            timing: Timing { backoff: 3, jitter_percent: 5, ..Timing::LEARNED },
            age: Nanos::from_secs(7_200),
            duplicate: Some(Nanos::from_millis(7)),
            limits: Limits { per_second: 9, share_percent: 30 },
            give_up: 0,
            table: 77,
            stack_rto: Nanos::from_secs(3),
            ..Config::new(Selection::default())
        };
        assert_eq!(config, expected);
    }

    #[test]
    fn errors_say_where_and_what_was_expected() {
        for (text, message) in [
            ("budget = 0", "a.toml:1:10: budget: invalid value 0: expected a whole number, 1 to 1000000"),
            ("\nage = \"31d\"", "a.toml:2:7: age: expected 1s to 2592000s"),
            ("stack-rto = 1", "a.toml:1:13: stack-rto: invalid value 1: expected a time in quotes, such as \"42ms\""),
            ("giveup = 3", "a.toml:1:1: unknown key 'giveup' (did you mean 'give-up'?); expected one of"),
        ] {
            let error = set(&mut Config::new(Selection::default()), "a.toml", text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
