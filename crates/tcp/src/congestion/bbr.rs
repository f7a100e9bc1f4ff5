//! BBR, version 1: Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00, in the
//! fixed-point arithmetic of `net/ipv4/tcp_bbr.c`.
//!
//! A model of the path, the highest delivery rate of ten round trips and the shortest round-trip time of ten seconds,
//! sets the pacing rate and the window. The mode says how the model is applied and what is to be learned next.

use super::policer::{Interval, Policer};
use super::windowed_max::WindowedMax;
use super::{Controller, Flow, Opening, Window};
use crate::profile::Profile;
use crate::rate::{RateSample, micros_between};
use crate::recovery::CaState;
use gentle_units::{Instant, Nanos};

/// Rates are in segments per µs, scaled by this (`BW_UNIT`).
pub(super) const RATE_ONE: u64 = 1 << 24;
/// Gains are scaled by this (`BBR_UNIT`).
pub(super) const GAIN_ONE: u64 = 256;
/// 2/ln 2: the smallest gain that doubles the rate each round trip; its inverse drains the queue of Startup in one.
const HIGH_GAIN: u64 = GAIN_ONE * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = GAIN_ONE * 1000 / 2885;
/// Gain of the window in ProbeBW, which leaves room for delayed acknowledgements.
const WINDOW_GAIN: u64 = GAIN_ONE * 2;
/// Gains of the pacing rate in the phases of ProbeBW.
const CYCLE: [u64; 8] =
    [GAIN_ONE * 5 / 4, GAIN_ONE * 3 / 4, GAIN_ONE, GAIN_ONE, GAIN_ONE, GAIN_ONE, GAIN_ONE, GAIN_ONE];
/// ProbeBW starts in one of so many phases, drawn at random: in any but the one of the lowest gain.
const START_PHASES: u64 = 7;
/// Percentage of the estimated rate at which data is paced.
const PACING_PERCENT: u64 = 99;
/// Round trips over which the highest delivery rate counts.
const RATE_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// Time over which the shortest round trip counts, and time spent in ProbeRTT, ms.
const MIN_RTT_MS: u64 = 10_000;
const PROBE_RTT_MS: u64 = 200;
/// Least window, segments: acknowledgements of every second segment keep the path busy.
const LEAST_WINDOW: u32 = 4;
/// Window before any round-trip time is known (`TCP_INIT_CWND`).
const FIRST_WINDOW: u32 = 10;
/// Startup ends after so many round trips without growth of the rate by a quarter.
const FULL_ROUNDS: u8 = 3;
/// Below this pacing rate, bytes per second, segments leave one by one (`bbr_min_tso_rate`).
const SINGLE_RATE: u64 = 1_200_000 / 8;
/// Aggregation of acknowledgements: rounds of a slot of the maximum, segments after which an epoch ends, and the time,
/// µs, for which the surplus may cover.
const AGGREGATION_ROUNDS: u8 = 5;
const AGGREGATION_MOST: u32 = (1 << 20) - 1;
const AGGREGATION_US: u64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Surplus of acknowledged segments over what the estimated rate explains.
#[derive(Debug, Clone, Default)]
struct Aggregation {
    epoch: Instant,
    epoch_acked: u32,
    /// Maxima of the current and of the previous slot of rounds.
    most: [u32; 2],
    rounds: u8,
    current: usize,
}

/// BBR's state.
#[derive(Debug, Clone)]
struct Model {
    mode: Mode,
    random: u64,
    rate: WindowedMax,
    /// Shortest round trip, µs, and when it was measured, ms; `None` before the first.
    min_rtt_us: Option<u64>,
    min_rtt_at: u64,
    has_seen_rtt: bool,
    /// Round trips so far; the current one ends when a segment sent after `round_end` segments had been delivered is.
    rounds: u32,
    round_end: u32,
    round_start: bool,
    /// Highest rate of Startup, and round trips since it last grew.
    full_rate: u32,
    full_rounds: u8,
    is_full: bool,
    cycle: usize,
    cycle_at: Instant,
    pacing_gain: u64,
    window_gain: u64,
    /// End of ProbeRTT, ms; 0: the window is not yet at its minimum.
    probe_until: u64,
    probe_round_done: bool,
    /// Whether sending resumes after idle time.
    restarting: bool,
    /// Window before recovery or ProbeRTT.
    prior_cwnd: u32,
    ssthresh: u32,
    state: CaState,
    /// Whether to send only as much as is delivered, in the first round trip of recovery.
    conserves: bool,
    aggregation: Aggregation,
    policer: Policer,
}

/// BBR; the state is on the heap, because no other algorithm's is as large.
#[derive(Debug, Clone)]
pub(crate) struct Bbr(Box<Model>);

impl Model {
    fn new() -> Model {
        Model {
            mode: Mode::Startup,
            random: 0,
            rate: WindowedMax::default(),
            min_rtt_us: None,
            min_rtt_at: 0,
            has_seen_rtt: false,
            rounds: 0,
            round_end: 0,
            round_start: false,
            full_rate: 0,
            full_rounds: 0,
            is_full: false,
            cycle: 0,
            cycle_at: Instant::ZERO,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            probe_until: 0,
            probe_round_done: false,
            restarting: false,
            prior_cwnd: 0,
            ssthresh: u32::MAX,
            state: CaState::Open,
            conserves: false,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
        }
    }

    /// Estimated rate of the path.
    fn bandwidth(&self) -> u32 {
        self.policer.rate().unwrap_or(self.rate.get())
    }

    /// Bandwidth-delay product times `gain`, segments, rounded up (`bbr_bdp`).
    fn bdp(&self, rate: u32, gain: u64) -> u32 {
        let Some(min_rtt_us) = self.min_rtt_us else {
            return FIRST_WINDOW;
        };
        let product = u128::from(rate) * u128::from(min_rtt_us) * u128::from(gain);
        (product / u128::from(GAIN_ONE)).div_ceil(u128::from(RATE_ONE)) as u32
    }

    /// `window` with room for the bursts of both hosts, rounded up to an even number (`bbr_quantization_budget`).
    fn with_bursts(&self, flow: &Flow, window: u32) -> u32 {
        let window = window.saturating_add(3 * self.burst(flow));
        let even = window.saturating_add(1) & !1;
        let probes = self.mode == Mode::ProbeBw && self.cycle == 0;
        even.saturating_add(if probes { 2 } else { 0 })
    }

    fn burst(&self, flow: &Flow) -> u32 {
        flow.pacing.burst(flow.mss, least_burst(flow.pacing.rate)).min(127)
    }

    fn target_in_flight(&self, flow: &Flow, rate: u32, gain: u64) -> u32 {
        self.with_bursts(flow, self.bdp(rate, gain))
    }

    /// Segments that will be in the network when the next one leaves (`bbr_packets_in_net_at_edt`).
    fn in_network(&self, flow: &Flow, in_flight: u32) -> u32 {
        let wait_us = flow.pacing.wait(flow.now).as_micros();
        let delivered = (u64::from(self.bandwidth()) * wait_us) / RATE_ONE;
        let departing = match self.pacing_gain > GAIN_ONE {
            true => self.burst(flow),
            false => 0,
        };
        let then = u64::from(in_flight + departing);
        then.saturating_sub(delivered) as u32
    }

    /// Sets the pacing rate; before the pipe is full it only rises (`bbr_set_pacing_rate`).
    fn pace(&mut self, flow: &mut Flow, rate: u32, gain: u64) {
        if !self.has_seen_rtt && flow.srtt.is_some() {
            self.pace_first_window(flow);
        }
        let rate = bytes_per_second(u64::from(rate), gain, flow.mss);
        if self.is_full || rate > flow.pacing.rate {
            flow.pacing.rate = rate;
        }
    }

    /// Paces the first window over a round trip, times the gain; over a millisecond, if none was measured.
    fn pace_first_window(&mut self, flow: &mut Flow) {
        let rtt_us = match flow.srtt {
            Some(srtt) => {
                self.has_seen_rtt = true;
                srtt.as_micros().max(1)
            }
            None => 1000,
        };
        let rate = u64::from(flow.window.cwnd) * RATE_ONE / rtt_us;
        flow.pacing.rate = bytes_per_second(rate, HIGH_GAIN, flow.mss);
    }

    fn save_window(&mut self, cwnd: u32) {
        let cut = self.state >= CaState::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = match cut {
            true => self.prior_cwnd.max(cwnd),
            false => cwnd,
        };
    }

    fn start_probe_bw(&mut self, flow: &Flow) {
        self.mode = Mode::ProbeBw;
        // Knuth's generator; its high bits choose the phase.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = ((self.random >> 32) * START_PHASES) >> 32;
        self.cycle = CYCLE.len() - 1 - drawn as usize;
        self.advance_cycle(flow);
    }

    fn advance_cycle(&mut self, flow: &Flow) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = flow.rate.delivered_at;
    }

    /// Takes a sample of the delivery rate (`bbr_update_bw`).
    fn update_rate(&mut self, flow: &Flow, sample: &RateSample) {
        self.round_start = false;
        let (Some((before, delivered)), Some(interval_us)) = (sample.delivered, sample.interval_us) else {
            return;
        };
        if before.wrapping_sub(self.round_end) as i32 >= 0 {
            self.round_end = flow.rate.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.round_start = true;
            self.conserves = false;
        }
        self.sample_policer(flow, sample.lost, sample.app_limited);
        let rate = (u64::from(delivered) * RATE_ONE / interval_us).min(u64::from(u32::MAX)) as u32;
        if !sample.app_limited || rate >= self.rate.get() {
            self.rate.add(RATE_ROUNDS, self.rounds, rate);
        }
    }

    fn sample_policer(&mut self, flow: &Flow, lost: u32, app_limited: bool) {
        let interval = Interval {
            at_ms: flow.rate.delivered_at.as_millis(),
            delivered: flow.rate.delivered,
            lost: flow.lost,
            mss: flow.mss,
        };
        if self.policer.rate().is_some() {
            let counts = self.mode == Mode::ProbeBw && self.round_start;
            if counts && self.policer.gives_up() {
                self.policer = Policer::default();
                self.start_probe_bw(flow);
            }
        } else {
            let found = self.policer.sample(&interval, lost, self.round_start, app_limited);
            if found {
                self.pacing_gain = GAIN_ONE;
            }
        }
    }

    /// Estimates how far acknowledgements are aggregated (`bbr_update_ack_aggregation`).
    fn update_aggregation(&mut self, flow: &Flow, sample: &RateSample) {
        if sample.acked == 0 || sample.delivered.is_none() || sample.interval_us.is_none() {
            return;
        }
        let bandwidth = self.bandwidth();
        let it = &mut self.aggregation;
        if self.round_start {
            it.rounds += 1;
            if it.rounds >= AGGREGATION_ROUNDS {
                it.rounds = 0;
                it.current = 1 - it.current;
                it.most[it.current] = 0;
            }
        }
        let epoch_us = micros_between(it.epoch, flow.rate.delivered_at);
        let mut expected = u64::from(bandwidth) * epoch_us / RATE_ONE;
        if u64::from(it.epoch_acked) <= expected || it.epoch_acked + sample.acked > AGGREGATION_MOST {
            it.epoch_acked = 0;
            it.epoch = flow.rate.delivered_at;
            expected = 0;
        }
        it.epoch_acked = (it.epoch_acked + sample.acked).min(AGGREGATION_MOST);
        let surplus = (u64::from(it.epoch_acked) - expected).min(u64::from(flow.window.cwnd));
        it.most[it.current] = it.most[it.current].max(surplus as u32);
    }

    /// Ends a phase of ProbeBW (`bbr_is_next_cycle_phase`).
    fn update_cycle(&mut self, flow: &Flow, sample: &RateSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let elapsed = micros_between(self.cycle_at, flow.rate.delivered_at);
        let is_long = self.min_rtt_us.is_some_and(|rtt| elapsed > rtt);
        let rate = self.rate.get();
        let in_network = || self.in_network(flow, sample.prior_in_flight);
        let ends = if self.pacing_gain == GAIN_ONE {
            is_long
        } else if self.pacing_gain > GAIN_ONE {
            is_long && (sample.lost > 0 || in_network() >= self.target_in_flight(flow, rate, self.pacing_gain))
        } else {
            is_long || in_network() <= self.target_in_flight(flow, rate, GAIN_ONE)
        };
        if ends {
            self.advance_cycle(flow);
        }
    }

    /// Finds out whether Startup has filled the pipe (`bbr_check_full_bw_reached`).
    fn check_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.round_start || sample.app_limited {
            return;
        }
        let rate = self.rate.get();
        if u64::from(rate) >= u64::from(self.full_rate) * 5 / 4 {
            self.full_rate = rate;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// Drains the queue that Startup has built.
    fn check_drain(&mut self, flow: &mut Flow) {
        let rate = self.rate.get();
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            self.ssthresh = self.target_in_flight(flow, rate, GAIN_ONE);
            flow.window.ssthresh = self.ssthresh;
        }
        if self.mode == Mode::Drain
            && self.in_network(flow, flow.in_flight) <= self.target_in_flight(flow, rate, GAIN_ONE)
        {
            self.start_probe_bw(flow);
        }
    }

    /// Keeps the shortest round trip, and probes for it when it is old (`bbr_update_min_rtt`).
    fn update_min_rtt(&mut self, flow: &mut Flow, sample: &RateSample) {
        let now = flow.now.as_millis();
        let expired = now > self.min_rtt_at + MIN_RTT_MS;
        if let Some(rtt) = sample.rtt_us
            && (self.min_rtt_us.is_none_or(|min| rtt < min) || (expired && !sample.delayed))
        {
            self.min_rtt_us = Some(rtt);
            self.min_rtt_at = now;
        }
        if expired && !self.restarting && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(flow.window.cwnd);
            self.probe_until = 0;
        }
        if self.mode == Mode::ProbeRtt {
            // The low rate of this mode says nothing about the path.
            flow.rate.limit_by_application(flow.in_flight);
            if self.probe_until == 0 && flow.in_flight <= LEAST_WINDOW {
                self.probe_until = now + PROBE_RTT_MS;
                self.probe_round_done = false;
                self.round_end = flow.rate.delivered;
            } else if self.probe_until > 0 {
                self.probe_round_done |= self.round_start;
                if self.probe_round_done {
                    self.check_probe_rtt_done(flow);
                }
            }
        }
        if sample.delivered.is_some_and(|(_, delivered)| delivered > 0) {
            self.restarting = false;
        }
    }

    fn check_probe_rtt_done(&mut self, flow: &mut Flow) {
        let now = flow.now.as_millis();
        if self.probe_until == 0 || now <= self.probe_until {
            return;
        }
        self.min_rtt_at = now;
        flow.window.cwnd = flow.window.cwnd.max(self.prior_cwnd);
        if self.is_full {
            self.start_probe_bw(flow);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (GAIN_ONE, WINDOW_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], WINDOW_GAIN),
            Mode::ProbeRtt => (GAIN_ONE, GAIN_ONE),
        };
    }

    /// Window during and after recovery; `None`: it follows the model
    /// (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover(&mut self, flow: &mut Flow, sample: &RateSample) -> Option<u32> {
        let before = std::mem::replace(&mut self.state, flow.state);
        let mut cwnd = flow.window.cwnd;
        if sample.lost > 0 {
            cwnd = cwnd.saturating_sub(sample.lost).max(1);
        }
        let delivered = flow.in_flight + sample.acked;
        if flow.state == CaState::Recovery && before != CaState::Recovery {
            self.conserves = true;
            self.round_end = flow.rate.delivered;
            cwnd = delivered;
        } else if before >= CaState::Recovery && flow.state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        flow.window.cwnd = cwnd;
        self.conserves.then(|| cwnd.max(delivered))
    }

    /// Window that the model gives (`bbr_set_cwnd`).
    fn target_window(&self, flow: &Flow, acked: u32, rate: u32) -> u32 {
        let mut target = self.bdp(rate, self.window_gain);
        if self.is_full {
            let longest = u64::from(rate) * AGGREGATION_US / RATE_ONE;
            let [one, other] = self.aggregation.most;
            target = target.saturating_add(u64::from(one.max(other)).min(longest) as u32);
        }
        target = self.with_bursts(flow, target);
        let mut cwnd = flow.window.cwnd;
        if self.is_full {
            cwnd = cwnd.saturating_add(acked).min(target);
        } else if cwnd < target || flow.rate.delivered < FIRST_WINDOW {
            cwnd = cwnd.saturating_add(acked);
        }
        cwnd.max(LEAST_WINDOW)
    }

    fn set_window(&mut self, flow: &mut Flow, sample: &RateSample, rate: u32) {
        if sample.acked > 0 {
            flow.window.cwnd = match self.recover(flow, sample) {
                Some(cwnd) => cwnd,
                None => self.target_window(flow, sample.acked, rate),
            };
        }
        if self.mode == Mode::ProbeRtt {
            flow.window.cwnd = flow.window.cwnd.min(LEAST_WINDOW);
        }
    }
}

/// Least segments of a burst (`bbr_min_tso_segs`).
fn least_burst(rate: u64) -> u32 {
    if rate < SINGLE_RATE { 1 } else { 2 }
}

/// Pacing rate for an estimated `rate` times `gain`, bytes per second.
pub(super) fn bytes_per_second(rate: u64, gain: u64, mss: u32) -> u64 {
    let bytes = u128::from(rate) * u128::from(mss) * u128::from(gain) / u128::from(GAIN_ONE);
    let second = u128::from(1_000_000 / 100 * PACING_PERCENT);
    u64::try_from(bytes * second / u128::from(RATE_ONE)).unwrap_or(u64::MAX)
}

impl Controller for Bbr {
    const RATE_BASED: bool = true;

    fn new(_: &Profile, _: Instant) -> Bbr {
        Bbr(Box::new(Model::new()))
    }

    fn on_open(&mut self, opening: &Opening, flow: Option<&mut Flow>) {
        let Some(flow) = flow else {
            return;
        };
        let it = &mut self.0;
        it.random = u64::from(opening.seed);
        it.min_rtt_us = flow.min_rtt.map(Nanos::as_micros);
        it.min_rtt_at = flow.now.as_millis();
        it.round_end = flow.rate.delivered;
        it.aggregation.epoch = flow.now;
        it.pace_first_window(flow);
    }

    fn on_ack(&mut self, _: &mut Window, _: Instant, _: u32) {}

    fn on_loss(&mut self, cwnd: u32) -> u32 {
        self.0.save_window(cwnd);
        self.0.ssthresh
    }

    fn on_undo(&mut self, _: &mut Window, _: u32) {
        self.0.full_rate = 0;
        self.0.full_rounds = 0;
        self.0.policer = Policer::default();
    }

    fn least_burst(&self, rate: u64) -> Option<u32> {
        Some(least_burst(rate))
    }

    fn on_sample(&mut self, flow: &mut Flow, sample: &RateSample) {
        let it = &mut self.0;
        it.update_rate(flow, sample);
        it.update_aggregation(flow, sample);
        it.update_cycle(flow, sample);
        it.check_full(sample);
        it.check_drain(flow);
        it.update_min_rtt(flow, sample);
        it.update_gains();
        let rate = it.bandwidth();
        it.pace(flow, rate, it.pacing_gain);
        it.set_window(flow, sample, rate);
    }

    fn on_transmission(&mut self, flow: &mut Flow) {
        let it = &mut self.0;
        if flow.rate.app_limited == 0 {
            return;
        }
        it.restarting = true;
        it.aggregation.epoch = flow.now;
        it.aggregation.epoch_acked = 0;
        match it.mode {
            Mode::ProbeBw => it.pace(flow, it.bandwidth(), GAIN_ONE),
            Mode::ProbeRtt => it.check_probe_rtt_done(flow),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Treats a timeout as the end of a round trip (`bbr_set_state`).
    fn on_enter_loss(&mut self, flow: &mut Flow) {
        let it = &mut self.0;
        it.state = CaState::Loss;
        it.full_rate = 0;
        it.round_start = true;
        it.sample_policer(flow, 1, false);
    }
}
