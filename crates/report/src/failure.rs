//! Conversion to I/O errors that keeps their kind, such as a full disk.

use std::io;

pub(crate) fn of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(cause) => cause,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(feature = "full")]
pub(crate) fn of_parquet(error: parquet::errors::ParquetError) -> io::Error {
    use parquet::errors::ParquetError;
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}
