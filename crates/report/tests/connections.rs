//! Files with one row per connection: equal values in CSV and Parquet, for any number of rows.

use gentle_report::connections::{COLUMNS, CsvWriter, ParquetWriter};
use gentle_trace::row::{Close, Outcome, Row, Side};
use gentle_units::{Instant, Nanos};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};
use std::io;
use std::net::Ipv6Addr;

fn established() -> Row {
    Row {
        start: Instant(1_700_000_000_123_456_789),
        end: Instant(1_700_000_003_500_000_000),
        client: std::net::Ipv4Addr::new(192, 0, 2, 7).into(),
        client_port: 40_123,
        server: std::net::IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)).into(),
        server_port: 443,
        syn_seen: true,
        established: true,
        rtt_server: Some(Nanos::from_millis(1030)),
        rtt_client: Some(Nanos::from_micros(250)),
        syn_retransmissions: 1,
        synack_retransmissions: 0,
        outcome: Some(Outcome::Succeeded),
        handshake_lost: 1,
        handshake_late: 0,
        handshake_deferred: 0,
        handshake_copies: 0,
        handshake_delay: Nanos::from_secs(1),
        response_time: Some(Nanos(3_376_543_211)),
        from_client: Side {
            segments: 12,
            bytes: 517,
            retransmissions: 1,
            retransmission_delay: Nanos::from_secs(1),
            retransmission_delay_sum: Nanos::from_secs(1),
        },
        from_server: Side {
            segments: 20,
            bytes: 24_576,
            retransmissions: 2,
            retransmission_delay: Nanos::from_millis(450),
            retransmission_delay_sum: Nanos::from_millis(450),
        },
        close: Close::Fin,
    }
}

fn unanswered() -> Row {
    Row {
        established: false,
        rtt_server: None,
        rtt_client: None,
        response_time: None,
        from_server: Side::default(),
        close: Close::Silent,
        ..established()
    }
}

fn parquet(rows: impl Iterator<Item = Row>) -> SerializedFileReader<bytes::Bytes> {
    let mut file = Vec::new();
    let mut writer = ParquetWriter::new(&mut file).unwrap();
    for row in rows {
        writer.write(&row).unwrap();
    }
    writer.finish().unwrap();
    SerializedFileReader::new(bytes::Bytes::from(file)).unwrap()
}

#[test]
fn csv_has_a_line_a_connection() {
    let mut file = Vec::new();
    let mut writer = CsvWriter::new(&mut file).unwrap();
    writer.write(&established()).unwrap();
    writer.write(&unanswered()).unwrap();
    writer.finish().unwrap();
    insta::assert_snapshot!(String::from_utf8(file).unwrap());
}

#[test]
fn parquet_says_what_csv_says() {
    let mut file = Vec::new();
    let mut writer = CsvWriter::new(&mut file).unwrap();
    writer.write(&established()).unwrap();
    writer.write(&unanswered()).unwrap();
    writer.finish().unwrap();
    let mut csv = csv::Reader::from_reader(file.as_slice());

    let reader = parquet([established(), unanswered()].into_iter());
    let mut lines = csv.records();
    for row in reader.get_row_iter(None).unwrap() {
        let (row, line) = (row.unwrap(), lines.next().unwrap().unwrap());
        assert_eq!(row.len(), COLUMNS.len());
        for ((column, (name, field)), text) in COLUMNS.iter().zip(row.get_column_iter()).zip(&line) {
            match field {
                Field::Null => assert_eq!(text, "", "{name}"),
                Field::Bool(flag) => assert_eq!(text, flag.to_string(), "{name}"),
                Field::Str(value) => assert_eq!(text, value, "{name}"),
                Field::UShort(port) => assert_eq!(text, port.to_string(), "{name}"),
                Field::Double(span) => assert_eq!(text.parse(), Ok(*span), "{name}"),
                Field::Long(count) if name == column.name => {
                    assert_eq!(text, count.to_string(), "{name}");
                }
                Field::Long(time) | Field::TimestampMicros(time) => {
                    assert_eq!(format!("{name}_s"), column.name);
                    let (whole, fraction) = text.split_once('.').unwrap();
                    assert_eq!(format!("{whole}{fraction:0<9}"), time.to_string());
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    assert!(lines.next().is_none());
}

#[test]
fn parquet_writes_a_group_when_it_is_full() {
    const ROWS: u64 = 150_000;
    let reader = parquet((0..ROWS).map(|i| Row {
        from_client: Side { bytes: i, ..Side::default() },
        rtt_server: (i % 3 == 0).then_some(Nanos(i)),
        ..established()
    }));
    let metadata = reader.metadata();
    let groups = metadata.row_groups().iter().map(|group| group.num_rows());
    assert_eq!(groups.collect::<Vec<_>>(), [65_536, 65_536, 18_928]);
    let column = |name: &str| COLUMNS.iter().position(|c| c.name == name).unwrap();
    let (bytes, rtt) = (column("bytes_from_client"), column("rtt_server_s"));
    for (i, row) in reader.get_row_iter(None).unwrap().enumerate() {
        let row = row.unwrap();
        assert_eq!(row.get_long(bytes).unwrap(), i as i64);
        assert_eq!(row.get_double(rtt).ok(), (i % 3 == 0).then_some(i as f64 / 1e9));
    }
}

#[test]
fn parquet_without_connections_is_a_file_still() {
    let reader = parquet(std::iter::empty());
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    assert_eq!(reader.metadata().file_metadata().schema().get_fields().len(), COLUMNS.len());
}

#[test]
fn a_full_disk_is_an_error_of_its_own_kind() {
    struct Full(usize);
    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => self.0 = left,
                None => return Err(io::ErrorKind::StorageFull.into()),
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let csv = || {
        let mut writer = CsvWriter::new(Full(500))?;
        for _ in 0..10_000 {
            writer.write(&established())?;
        }
        writer.finish()
    };
    assert_eq!(csv().unwrap_err().kind(), io::ErrorKind::StorageFull);
    let parquet = || {
        let mut writer = ParquetWriter::new(Full(500))?;
        for _ in 0..100_000 {
            writer.write(&established())?;
        }
        writer.finish()
    };
    assert_eq!(parquet().unwrap_err().kind(), io::ErrorKind::StorageFull);
}
