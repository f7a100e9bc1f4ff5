//! Tests of the lab without its page.

mod capture;
mod session;
mod sights;

use gentle_lab::Setup;

fn setup(traffic: &str, duration: &str) -> Setup {
    Setup {
        traffic: traffic.to_owned(),
        duration: Some(duration.to_owned()),
        profile: Some("linux-7.2".to_owned()),
        ..Setup::default()
    }
}
