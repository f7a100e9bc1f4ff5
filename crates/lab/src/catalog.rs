//! Choices of the page's controls: schemes with their options, scenarios, profiles; and the limits of grades.

use crate::event;
use crate::grade::GRADES;
use gentle_aqm::registry;
use gentle_experiment::{BUILTIN, Direction, Scenario};
use gentle_tcp::Profile;
use serde_json::{Value, json};

/// The catalog as JSON: `schemes`, `scenarios`, `profiles`, `causes` of drops by their index in events, `grades` with the time in
/// seconds below which they apply (the last: null).
pub fn catalog() -> String {
    let schemes = registry::listed().map(|scheme| {
        let option = |option: &gentle_aqm::OptionSpec| {
            json!({
                "name": option.name,
                "default": option.default,
                "accepts": option.kind.to_string(),
                "help": option.help,
            })
        };
        json!({
            "name": scheme.name,
            "summary": scheme.summary,
            "source": scheme.source,
            "options": scheme.options.iter().map(option).collect::<Vec<_>>(),
            "presets": scheme.presets.iter().map(|preset| preset.name).collect::<Vec<_>>(),
        })
    });
    let scenarios = BUILTIN.iter().filter_map(|name| {
        let scenario = Scenario::builtin(name)?;
        let [down, up] = &scenario.links;
        Some(json!({
            "name": name,
            "title": scenario.title,
            "rate_bps": down.rate.bits_per_second(),
            "up_rate_bps": up.rate.bits_per_second(),
            "rtt_s": (down.delay + up.delay).as_secs_f64(),
            "load": scenario.load(Direction::Down),
            "duration_s": scenario.duration.as_secs_f64(),
        }))
    });
    let profiles = Profile::NAMES.iter().map(|name| {
        let summary = Profile::summary(name).unwrap_or_default();
        json!({ "name": name, "summary": summary })
    });
    let catalog = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "schemes": schemes.collect::<Vec<Value>>(),
        "scenarios": scenarios.collect::<Vec<Value>>(),
        "profiles": profiles.collect::<Vec<Value>>(),
        "causes": event::causes(),
        "grades": GRADES,
    });
    catalog.to_string()
}
