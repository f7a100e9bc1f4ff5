//! The flags of `gentle qdisc`.

use super::values::{rate, seconds, whole};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use clap::{Args as ClapArgs, Subcommand};
use gentle_aqm::{Spec, registry};
use gentle_deploy::{Device, LinkLayer, ShaperKind};
use gentle_units::Rate;
use std::time::Duration;

const EXAMPLES: &str = "\
A queue scheme only has an effect where the queue builds up. With a home router, upstream traffic queues in the modem
and downstream traffic in the provider's equipment: --rate shapes to a lower rate, which makes this machine the
bottleneck. Set it to about 95 % of the link's upstream rate, or with --ingress 90 % of its downstream rate, and check
with gentle qdisc show that packets queue here.

Examples:
  gentle qdisc plan eth0 spa --rate 20mbit
  gentle qdisc apply eth0 spa --rate 19mbit
  gentle qdisc apply eth0 spa --ingress --rate 90mbit
  gentle qdisc apply ppp0 'codel target=20ms' --rate 900kbit --overhead 40 --linklayer atm
  gentle qdisc show eth0 --watch 1
  gentle qdisc remove eth0";

#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct QdiscArgs {
    #[command(subcommand)]
    pub(crate) command: QdiscCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QdiscCommand {
    /// Print the tc commands that are equivalent to gentle qdisc apply
    Plan(SetupArgs),
    /// Set up a scheme on a device (all or nothing)
    ///
    /// Replaces an earlier setup by gentle; an identical setup is left as it is. Requires only CAP_NET_ADMIN.
    Apply(ApplyArgs),
    /// Show the queues of a device with their counters
    Show(ShowArgs),
    /// Remove gentle's setup from a device and restore the previous qdiscs
    Remove(RemoveArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SetupArgs {
    /// Network device, such as eth0
    #[arg(value_name = "DEV")]
    pub(crate) dev: Device,

    /// Scheme with options if any, such as "codel target=20ms" or "cake nat" (see gentle schemes)
    #[arg(value_name = "SCHEME", value_parser = registry::for_device)]
    pub(crate) scheme: Spec,

    /// Manage received packets instead of sent ones, on an intermediate device (ifb)
    #[arg(long)]
    pub(crate) ingress: bool,

    /// Shape to this rate, slightly below the link's, so that packets queue on this machine
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<Rate>,

    /// Qdisc that shapes to --rate; cake only with the scheme cake [default: htb, or cake for the scheme cake]
    #[arg(long, value_name = "QDISC", requires = "rate", value_parser = shaper())]
    pub(crate) shaper: Option<ShaperKind>,

    /// Framing overhead of the link in bytes per packet, in addition to the bytes that the device counts; negative if
    /// it counts too many
    #[arg(long, value_name = "BYTES", requires = "rate", default_value = "0", value_parser = whole::<i16>(-64..=256))]
    pub(crate) overhead: i16,

    /// Minimum packet size on the link, in bytes
    #[arg(long, value_name = "BYTES", requires = "rate", default_value = "0", value_parser = whole::<u16>(0..=256))]
    pub(crate) mpu: u16,

    /// Link layer: Ethernet frames, or ATM cells of 53 bytes (ADSL)
    #[arg(long, value_name = "KIND", requires = "rate", default_value = "ethernet", value_parser = linklayer())]
    pub(crate) linklayer: LinkLayer,

    /// Implementation of gentle, spa, gsp and redfavor: gentle's kernel modules (native) or qdiscs of the stock kernel
    /// (stock; not for gsp and redfavor); auto: modules if available
    #[arg(long, value_name = "PARTS", default_value = "auto", value_parser = ["auto", "native", "stock"])]
    pub(crate) backing: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) setup: SetupArgs,

    /// Replace a qdisc that gentle did not set up; gentle qdisc remove restores it
    #[arg(long)]
    pub(crate) replace: bool,

    /// Print the tc commands and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// Network device
    #[arg(value_name = "DEV")]
    pub(crate) dev: Device,

    /// Print JSON instead of a table; with --watch, one line per reading
    #[arg(long)]
    pub(crate) json: bool,

    /// Repeat at this interval until Ctrl-C, 1s to 1h; a number without a unit is in seconds
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) watch: Option<Duration>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RemoveArgs {
    /// Network device
    #[arg(value_name = "DEV")]
    pub(crate) dev: Device,

    /// Remove only the setup for received packets
    #[arg(long)]
    pub(crate) ingress: bool,

    /// If the previous qdiscs cannot be restored, give the device its default qdisc
    #[arg(long)]
    pub(crate) discard: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    seconds(text, 1..=3_600)
}

fn shaper() -> impl TypedValueParser<Value = ShaperKind> {
    PossibleValuesParser::new(["htb", "tbf", "cake"]).try_map(|word| word.parse::<ShaperKind>())
}

fn linklayer() -> impl TypedValueParser<Value = LinkLayer> {
    PossibleValuesParser::new(["ethernet", "atm"]).try_map(|word| word.parse::<LinkLayer>())
}
