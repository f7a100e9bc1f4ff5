//! The flags of `gentle qdisc`.

use super::values::{rate, seconds, whole};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use clap::{Args as ClapArgs, Subcommand};
use gentle_aqm::Spec;
use gentle_deploy::{Cake, Device, Discipline, LinkLayer, ShaperKind};
use gentle_units::Rate;
use std::time::Duration;

const EXAMPLES: &str = "\
A queue can only be managed where it forms. On a home router it forms in the modem, or at the provider's end for what
comes in: --rate makes this machine the bottleneck instead. Give a little less than the link carries, 95 % for what is
sent and 90 % for what arrives, and look with gentle qdisc show whether packets wait here.

Examples:
  gentle qdisc plan eth0 spa --rate 20mbit
  gentle qdisc apply eth0 spa --rate 19mbit
  gentle qdisc apply eth0 spa --ingress --rate 90mbit
  gentle qdisc apply ppp0 'codel target=20ms' --rate 900kbit --overhead 40 --linklayer atm
  gentle qdisc show eth0 --watch 1
  gentle qdisc remove eth0";

/// What stands in place of a scheme of gentle-aqm in messages and help.
const SCHEME_HELP: &str =
    "A scheme with options, as in \"codel target=20ms\" (see gentle schemes), or cake";

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct QdiscArgs {
    #[command(subcommand)]
    pub(crate) command: QdiscCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QdiscCommand {
    /// Print the tc commands that apply would run
    Plan(SetupArgs),
    /// Put a scheme on a device: all of it, or nothing is changed
    ///
    /// What gentle put there before is replaced; if it is the same, nothing happens. Needs CAP_NET_ADMIN and nothing else.
    Apply(ApplyArgs),
    /// Show what the queues of a device have done
    Show(ShowArgs),
    /// Take off what apply put on a device, and bring back what was there before
    Remove(RemoveArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SetupArgs {
    /// The network device, as in eth0
    #[arg(value_name = "DEV")]
    pub(crate) dev: Device,

    #[arg(value_name = "SCHEME", help = SCHEME_HELP, value_parser = discipline)]
    pub(crate) discipline: Discipline,

    /// Manage what arrives at the device instead of what leaves it, through an intermediate device (ifb)
    #[arg(long)]
    pub(crate) ingress: bool,

    /// Hold packets back to this rate, so that they queue here; a little less than the link carries
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// What holds them back; cake only for itself [default: htb]
    #[arg(long, value_name = "QDISC", requires = "rate", value_parser = shaper())]
    pub(crate) shaper: Option<ShaperKind>,

    /// Bytes that each packet takes on the link beyond what the device counts
    #[arg(long, value_name = "BYTES", requires = "rate", default_value = "0", value_parser = whole::<u16>(0..=256))]
    pub(crate) overhead: u16,

    /// Bytes that even the shortest packet takes on the link
    #[arg(long, value_name = "BYTES", requires = "rate", default_value = "0", value_parser = whole::<u16>(0..=256))]
    pub(crate) mpu: u16,

    /// What carries the packets: frames, or cells of 53 bytes (ADSL)
    #[arg(long, value_name = "KIND", requires = "rate", default_value = "ethernet", value_parser = linklayer())]
    pub(crate) linklayer: LinkLayer,

    /// Whether spa, gsp and redfavor are gentle's kernel modules or stock parts; auto: modules where they are there
    #[arg(long, value_name = "PARTS", default_value = "auto", value_parser = ["auto", "native", "stock"])]
    pub(crate) backing: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) setup: SetupArgs,

    /// Put a queue aside that gentle did not put there; gentle qdisc remove brings it back
    #[arg(long)]
    pub(crate) replace: bool,

    /// Only print the commands
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// The network device
    #[arg(value_name = "DEV")]
    pub(crate) dev: Device,

    /// Print JSON instead of a table; with --watch a line each time
    #[arg(long)]
    pub(crate) json: bool,

    /// Show it again each time this has passed, 1s to 1h, until Ctrl-C; a number without a unit is in seconds
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) watch: Option<Duration>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RemoveArgs {
    /// The network device
    #[arg(value_name = "DEV")]
    pub(crate) dev: Device,

    /// Only what manages arriving packets
    #[arg(long)]
    pub(crate) ingress: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    seconds(text, 1..=3_600)
}

fn discipline(text: &str) -> Result<Discipline, String> {
    if text.split_whitespace().next() == Some("cake") {
        return text.parse::<Cake>().map(Discipline::Cake);
    }
    let spec: Spec = text.parse().map_err(|error| format!("{error}"))?;
    Ok(Discipline::Scheme(spec))
}

fn shaper() -> impl TypedValueParser<Value = ShaperKind> {
    PossibleValuesParser::new(["htb", "tbf", "cake"]).try_map(|word| word.parse::<ShaperKind>())
}

fn linklayer() -> impl TypedValueParser<Value = LinkLayer> {
    PossibleValuesParser::new(["ethernet", "atm"]).try_map(|word| word.parse::<LinkLayer>())
}
