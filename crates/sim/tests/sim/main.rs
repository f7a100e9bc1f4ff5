//! The simulator: its captures by tshark, its results against closed forms, theory and a kernel's measurements, and invariants.

mod c_library;
mod capture_tshark;
mod changes;
mod datagrams;
mod dialogues;
mod edges;
mod features;
mod flood;
mod groups;
mod harm;
mod invariants;
mod kernel;
mod links;
mod lone_senders;
mod numbers;
mod phases;
mod rounds;
mod tap;
