//! Captures of every format, whole and damaged, compared with other readers.

mod build;
mod damage;
mod formats;
mod real;
mod written;
mod zeros;
