//! Captures of every format, whole and damaged, and what other readers say of them.

mod build;
mod damage;
mod formats;
mod real;
mod written;
mod zeros;
