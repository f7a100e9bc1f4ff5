//! Users of dialogues, and what a connection has to remember of its dialogue.

use gentle_experiment::application::dialogue::{User, UserPlan};
use gentle_experiment::application::{Request, Server};
use gentle_experiment::{Direction, Scenario};
use gentle_units::Instant;
use std::collections::VecDeque;

/// A user with its place in the simulation.
pub(crate) struct Seat {
    pub(crate) plan: UserPlan,
    pub(crate) user: User,
    /// Link that carries the answers.
    pub(crate) direction: Direction,
    /// Place and number of its connection; `None`: it has none, or has closed it.
    pub(crate) connection: Option<(u32, u32)>,
    /// The last event planned for it.
    pub(crate) planned: Instant,
}

impl Seat {
    /// All users of a scenario with `seed`.
    pub(crate) fn all(scenario: &Scenario, seed: u64) -> Vec<Seat> {
        let plans = scenario.users(seed).into_iter();
        plans
            .map(|plan| Seat {
                user: User::new(&plan),
                direction: scenario.workloads[plan.workload].direction,
                plan,
                connection: None,
                planned: Instant::NEVER,
            })
            .collect()
    }
}

/// The dialogue on a connection.
#[derive(Default)]
pub(crate) struct Talk {
    /// Index of the user.
    pub(crate) user: u32,
    /// Whether the user knows that the connection is established.
    pub(crate) connected: bool,
    /// Payload of which the user knows.
    pub(crate) heard: u64,
    /// Bytes of all requests written.
    asked: u64,
    /// Requests under way, with the position in the stream at which each ends.
    requests: VecDeque<(u64, Request)>,
    pub(crate) server: Server,
    /// The last event planned for an answer.
    pub(crate) planned: Instant,
}

impl Talk {
    /// The dialogue of the user with the index `user`.
    pub(crate) fn of(user: u32) -> Talk {
        Talk { user, ..Talk::default() }
    }

    /// Accounts for requests that the user writes; returns their bytes.
    pub(crate) fn ask(&mut self, requests: &[Request]) -> u64 {
        let before = self.asked;
        for request in requests {
            self.asked += u64::from(request.bytes);
            self.requests.push_back((self.asked, *request));
        }
        self.asked - before
    }

    /// Hands the server the requests that are complete with `received` bytes.
    pub(crate) fn deliver(&mut self, now: Instant, received: u64) {
        while let Some((end, request)) = self.requests.front()
            && *end <= received
        {
            self.server.request(now, request);
            self.requests.pop_front();
        }
    }
}
