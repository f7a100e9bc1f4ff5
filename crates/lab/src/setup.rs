//! A scenario as the page describes it: the traffic of `gentle compare` with its options.

use gentle_aqm::{Kind, Spec, Value};
use gentle_experiment::{Direction, LinkChange, Scenario};
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use toml_edit::DocumentMut;

/// Name of the scenario file that the page offers, in messages and commands.
pub(crate) const FILE: &str = "lab.toml";

/// Longest run, as on the command line: a day.
const LONGEST: Nanos = Nanos::from_secs(86_400);

/// Bytes of a packet when a buffer in packets becomes one in bytes: a full Ethernet frame without its checksum.
const PACKET: u64 = 1_514;

/// Traffic and its changes, each in the syntax of the option of `gentle compare` that has its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setup {
    /// Name of a built-in scenario, for lack of `toml`.
    pub traffic: String,
    /// Text of a scenario file.
    pub toml: Option<String>,
    /// Flow list in CSV that `toml` refers to or, without `toml`, that is replayed.
    pub flows: Option<String>,
    /// Rate of the link under test: `2.4mbit`.
    pub rate: Option<String>,
    /// Rate of the reverse link.
    pub up_rate: Option<String>,
    /// Offered load: `88%`.
    pub load: Option<String>,
    /// Round-trip time of the links: `94ms`. The command has no such option; it is written into the scenario file.
    pub rtt: Option<String>,
    /// Length of the arrival process: `1000s`.
    pub duration: Option<String>,
    /// TCP profile of the hosts.
    pub profile: Option<String>,
}

/// Reason for which a setup cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{place}: {problem}")]
pub struct SetupError {
    /// The control or the file: `rate`, `lab.toml:3`.
    pub place: String,
    /// A sentence that names the mistake and the values that are valid.
    pub problem: String,
}

impl SetupError {
    fn of(place: &str, problem: impl ToString) -> SetupError {
        SetupError { place: place.to_owned(), problem: problem.to_string() }
    }
}

impl Setup {
    /// Reads the JSON of a setup.
    ///
    /// # Errors
    /// It is not the JSON of a setup.
    pub fn from_json(text: &str) -> Result<Setup, SetupError> {
        serde_json::from_str(text).map_err(|error| SetupError::of("setup", error))
    }

    /// The scenario.
    ///
    /// # Errors
    /// A part of the setup is malformed, or contradicts another.
    pub fn scenario(&self) -> Result<Scenario, SetupError> {
        let mut scenario = self.base()?;
        if let Some(text) = &self.duration {
            let duration: Nanos = parse("duration", text)?;
            if duration == Nanos::ZERO || duration > LONGEST {
                return Err(SetupError::of("duration", "expected more than 0s and at most 86400s"));
            }
            scenario.set_duration(duration);
        }
        if let Some(profile) = &self.profile {
            (scenario.set_profile(profile)).map_err(|error| SetupError::of("hosts", error))?;
        }
        let rate = |place, text: &Option<String>| match text {
            Some(text) => parse(place, text).map(Some),
            None => Ok(None),
        };
        let change = LinkChange {
            down: rate("rate", &self.rate)?,
            up: rate("reverse rate", &self.up_rate)?,
            load: self.load.as_deref().map(load).transpose()?,
        };
        (scenario.change_links(&change)).map_err(|error| SetupError::of("load", error))?;
        (scenario.check_extent()).map_err(|problem| SetupError::of("traffic", problem))?;
        Ok(scenario)
    }

    /// The scenario without the changes that the command has options for.
    fn base(&self) -> Result<Scenario, SetupError> {
        let read = |_: &str| match &self.flows {
            Some(flows) => Ok(flows.clone()),
            None => Err(std::io::Error::from(std::io::ErrorKind::NotFound)),
        };
        if let (Some(flows), None) = (&self.flows, &self.toml) {
            if self.rtt.is_some() {
                let problem = "a flow list sets the round-trip times of its connections";
                return Err(SetupError::of("round-trip time", problem));
            }
            return Scenario::from_flows("flows.csv", flows).map_err(|error| SetupError::of("flow list", error));
        }
        if self.toml.is_none() && self.rtt.is_none() {
            return Scenario::builtin(&self.traffic).ok_or_else(|| self.unknown());
        }
        let text = self.file()?;
        // The message names the file already.
        Scenario::from_toml(FILE, &text, &read).map_err(|error| SetupError::of("scenario", error))
    }

    fn unknown(&self) -> SetupError {
        let names = gentle_experiment::BUILTIN.join(", ");
        let problem = format!("'{}' is not built in; expected one of {names}", self.traffic);
        SetupError::of("traffic", problem)
    }

    /// Text of the scenario file with the requested round-trip time: `lab.toml` of the commands that the page shows.
    ///
    /// # Errors
    /// The text is not TOML or has no links, or the round-trip time is no time.
    pub fn file(&self) -> Result<String, SetupError> {
        let text = match &self.toml {
            Some(text) => text.as_str(),
            None => Scenario::builtin_toml(&self.traffic).ok_or_else(|| self.unknown())?,
        };
        let Some(rtt) = &self.rtt else {
            return Ok(text.to_owned());
        };
        let rtt: Nanos = parse("round-trip time", rtt)?;
        if rtt > Nanos::from_secs(60) {
            return Err(SetupError::of("round-trip time", "expected at most 60s"));
        }
        let mut file: DocumentMut = text
            .parse()
            .map_err(|error: toml_edit::TomlError| SetupError::of(FILE, format!("not TOML: {}", error.message())))?;
        let delay = |file: &DocumentMut, link: &str| -> Option<Nanos> {
            file.get("link")?.get(link)?.get("delay")?.as_str()?.parse().ok()
        };
        let [down, up] = ["down", "up"].map(|link| delay(&file, link).unwrap_or_default());
        // Both directions keep their shares.
        let share = match down + up {
            Nanos::ZERO => 0.5,
            both => down.as_secs_f64() / both.as_secs_f64(),
        };
        let micros = rtt.0.div_ceil(1_000);
        let down = (micros as f64 * share).round() as u64;
        for (link, micros) in [("down", down), ("up", micros - down.min(micros))] {
            let table = file.get_mut("link").and_then(|links| links.get_mut(link));
            let table = table.and_then(toml_edit::Item::as_table_like_mut);
            let table = table
                .ok_or_else(|| SetupError::of(FILE, format!("missing [link.{link}], whose delay is to change")))?;
            table.insert("delay", toml_edit::value(format!("{micros}us")));
        }
        Ok(file.to_string())
    }
}

/// The scenario of a setup as JSON: names, links and load, for controls without their own values.
///
/// # Errors
/// The setup is malformed.
pub fn describe(setup: &Setup) -> Result<String, SetupError> {
    let scenario = setup.scenario()?;
    let [down, up] = &scenario.links;
    let rto = scenario.workloads.iter().map(|workload| {
        let [initiator, _] = scenario.profiles(workload);
        initiator.initial_rto.as_secs_f64()
    });
    let rto = rto.fold(None, |least: Option<f64>, rto| Some(least.map_or(rto, |l| l.min(rto))));
    let schemes = scenario.schemes_to_compare();
    let description = serde_json::json!({
        "name": scenario.name,
        "title": scenario.title,
        "rate_bps": down.rate.bits_per_second(),
        "up_rate_bps": up.rate.bits_per_second(),
        "delay_s": [down.delay.as_secs_f64(), up.delay.as_secs_f64()],
        "overhead": [down.overhead, up.overhead],
        "up_qdisc": up.qdisc.to_string(),
        "up_as_down": up.as_down,
        "load": load_of(&scenario),
        "profile": scenario.profile_name,
        "initial_rto_s": rto.unwrap_or(scenario.profile.initial_rto.as_secs_f64()),
        "duration_s": scenario.duration.as_secs_f64(),
        "drain_s": scenario.drain.as_secs_f64(),
        "workloads": scenario.workloads.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "schemes": schemes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "assumptions": scenario.assumptions,
        "warnings": scenario.warnings,
    });
    Ok(description.to_string())
}

fn parse<T: std::str::FromStr>(place: &str, text: &str) -> Result<T, SetupError>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| SetupError::of(place, error))
}

/// Reads an offered load as the command does.
fn load(text: &str) -> Result<f64, SetupError> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent
        .filter(|percent| (0.1..=1000.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| SetupError::of("load", "expected a percentage of the rate, 0.1% to 1000%, such as 88%"))
}

/// `spec` with a buffer of so many packets; `None`: the scheme has no limit, or not such a one.
pub fn with_buffer(spec: &Spec, packets: u64) -> Option<Spec> {
    let stores = spec.innermost().scheme();
    let option = stores.options.iter().find(|option| option.name == "limit")?;
    let value = match option.kind {
        Kind::Count(..) => Value::Count(packets),
        Kind::Size(..) => Value::Size(packets * PACKET),
        _ => return None,
    };
    spec.with("limit", value).ok()
}

/// Offered load of the link under test as a fraction of its rate.
pub(crate) fn load_of(scenario: &Scenario) -> f64 {
    scenario.load(Direction::Down)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(traffic: &str) -> Setup {
        Setup { traffic: traffic.to_owned(), ..Setup::default() }
    }

    #[test]
    fn a_round_trip_time_keeps_the_shares_of_the_directions() {
        let mut setup = setup("real");
        setup.rtt = Some("188ms".to_owned());
        let scenario = setup.scenario().unwrap();
        assert_eq!(scenario.links[0].delay, Nanos::from_millis(84));
        assert_eq!(scenario.links[1].delay, Nanos::from_millis(104));
        let file = setup.file().unwrap();
        assert!(file.contains("# End hosts of the paper"), "comments stay");
        setup.rtt = None;
        assert_eq!(setup.file().unwrap(), Scenario::builtin_toml("real").unwrap());
    }

    #[test]
    fn a_flow_list_is_replayed() {
        let mut setup = Setup {
            flows: Some("start_s,bytes,rtt_s\n0.5,3000,0.04\n1.5,100,0.1\n".to_owned()),
            rate: Some("1mbit".to_owned()),
            ..Setup::default()
        };
        let scenario = setup.scenario().unwrap();
        assert_eq!(scenario.schedule(1).count(), 2);
        assert_eq!(scenario.links[0].rate, "1mbit".parse().unwrap());
        setup.rtt = Some("50ms".to_owned());
        let error = setup.scenario().unwrap_err().to_string();
        assert!(error.starts_with("round-trip time: a flow list"), "{error}");
        setup.flows = Some("start_s,bytes\nnoon,1\n".to_owned());
        setup.rtt = None;
        let error = setup.scenario().unwrap_err().to_string();
        assert!(error.starts_with("flow list: flows.csv"), "{error}");
    }

    #[test]
    fn changes_are_those_of_the_command() {
        let mut setup = setup("real");
        setup.rate = Some("24mbit".to_owned());
        setup.load = Some("50%".to_owned());
        setup.profile = Some("linux-7.2".to_owned());
        let scenario = setup.scenario().unwrap();
        assert_eq!(scenario.links[1].rate, "4mbit".parse().unwrap());
        assert!((load_of(&scenario) - 0.5).abs() < 1e-6);
        assert_eq!(scenario.profile_name, "linux-7.2");
    }

    #[test]
    fn errors_say_where_and_what() {
        let broken = |change: fn(&mut Setup)| {
            let mut setup = setup("real");
            change(&mut setup);
            setup.scenario().unwrap_err().to_string()
        };
        for (error, expected) in [
            (broken(|s| s.rate = Some("fast".to_owned())), "rate: "),
            (broken(|s| s.load = Some("half".to_owned())), "load: expected a percentage"),
            (broken(|s| s.rtt = Some("90s".to_owned())), "round-trip time: expected at most 60s"),
            (broken(|s| s.duration = Some("2d".to_owned())), "duration: "),
            (broken(|s| s.profile = Some("dos".to_owned())), "hosts: "),
            (broken(|s| s.traffic = "surreal".to_owned()), "traffic: 'surreal' is not built in"),
            (broken(|s| s.toml = Some("[link".to_owned())), "scenario: lab.toml"),
        ] {
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_buffer_in_packets_fits_every_scheme_that_has_a_limit() {
        let buffer = |spec: &str| Some(with_buffer(&spec.parse().unwrap(), 20)?.to_string());
        assert_eq!(buffer("pfifo limit=50"), Some("pfifo limit=20".to_owned()));
        assert_eq!(buffer("bfifo limit=75000"), Some("bfifo limit=30280b".to_owned()));
        assert_eq!(buffer("codel target=20ms").as_deref(), Some("codel limit=20 target=20ms"));
        assert_eq!(buffer("cake"), None);
    }
}
