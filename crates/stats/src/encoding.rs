//! Histograms in formats that other tools read: HdrHistogram V2 in base64, interval logs (`.hlog`), percentile tables
//! (`.hgrm`).
//!
//! V2 is written uncompressed (it skips zeros, so it is small anyway), but compressed in a log: the Java log reader
//! accepts nothing else. Our own decoder reads it, because it comes from files: the library's reserves whatever memory
//! the header names.

use crate::Histogram;
use crate::histogram::DIGITS;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer, V2Serializer};
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};
use units::{Instant, Nanos};

impl Histogram {
    /// The histogram as HdrHistogram V2 (uncompressed) in base64.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.counts, &mut bytes).expect("no count comes near 2^63");
        STANDARD.encode(bytes)
    }

    /// Reads what [`Histogram::to_base64`] wrote.
    ///
    /// # Errors
    ///
    /// The text is not base64, or not a V2 histogram with our bounds and digits.
    pub fn from_base64(text: &str) -> Result<Self, DecodeError> {
        let bytes = STANDARD.decode(text).map_err(DecodeError::NotBase64)?;
        let (header, payload) = bytes.split_at_checked(HEADER_SIZE).ok_or(DecodeError::CutOff)?;
        let expected_len = u32::try_from(payload.len()).map_err(|_| DecodeError::CutOff)?;
        if header[..4] != COOKIE {
            return Err(DecodeError::NotV2);
        }
        if header[4..8] != expected_len.to_be_bytes() {
            return Err(DecodeError::CutOff);
        }
        if header[8..] != bounds() {
            return Err(DecodeError::OtherBounds);
        }
        decode_counts(payload)
    }

    /// The histogram as a percentile table in microseconds (`.hgrm`), for HdrHistogram's plotter and other readers of
    /// such files.
    pub fn to_hgrm(&self) -> String {
        let mut text = format!(
            "{:>12} {:>14} {:>10} {:>14}\n\n",
            "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
        );
        let mut count = 0;
        for step in self.counts.iter_quantiles(STEPS_PER_HALVING) {
            count += step.count_since_last_iteration();
            let quantile = step.quantile_iterated_to();
            let value = micros(step.value_iterated_to());
            let beyond = if quantile < 1.0 {
                format!(" {:>14.2}", 1.0 / (1.0 - quantile))
            } else {
                String::new()
            };
            line(&mut text, format_args!("{value:>12.3} {quantile:>2.12} {count:>10}{beyond}"));
        }
        let (mean, stddev) =
            (self.mean_ns().unwrap_or(0.0) / 1e3, self.stddev_ns().unwrap_or(0.0) / 1e3);
        line(&mut text, format_args!("#[Mean    = {mean:>12.3}, StdDeviation   = {stddev:>12.3}]"));
        let max = micros(self.max().unwrap_or_default().0);
        line(
            &mut text,
            format_args!("#[Max     = {max:>12.3}, Total count    = {:>12}]", self.count()),
        );
        let buckets = self.counts.buckets();
        line(
            &mut text,
            format_args!("#[Buckets = {buckets:>12}, SubBuckets     = {:>12}]", HALF * 2),
        );
        text
    }
}

/// One entry of an interval log.
#[derive(Clone, Copy, Debug)]
pub struct LogInterval<'a> {
    /// The start of the interval.
    pub start: Instant,
    /// Its length.
    pub length: Nanos,
    /// The tag that distinguishes its histograms from others in the log; characters that the format does not allow
    /// become `_`.
    pub tag: &'a str,
    /// The times of the interval.
    pub histogram: &'a Histogram,
}

/// An HdrHistogram interval log (`.hlog`) of `intervals`, which began `epoch` after 1970; values are in nanoseconds,
/// and histograms are compressed V2.
pub fn interval_log<'a>(
    epoch: Nanos,
    intervals: impl IntoIterator<Item = LogInterval<'a>>,
) -> String {
    let began = SystemTime::UNIX_EPOCH + Duration::from(epoch);
    let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("[Values are nanoseconds]")
        .with_start_time(began)
        .with_base_time(began)
        .begin_log_with(&mut bytes, &mut serializer)
        .expect("writing to memory does not fail");
    for LogInterval { start, length, tag, histogram } in intervals {
        let tag = tag.replace([',', ' ', '\r', '\n'], "_");
        log.write_histogram(
            &histogram.counts,
            start.since(Instant::START).into(),
            length.into(),
            Tag::new(&tag),
        )
        .expect("writing to memory does not fail");
    }
    String::from_utf8(bytes).expect("the log is text")
}

/// The reason why a text is not one of our histograms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It is truncated, or continues after its end.
    #[error("histogram is cut off or too long")]
    CutOff,
    /// It is not base64.
    #[error("histogram is not base64: {0}")]
    NotBase64(base64::DecodeError),
    /// It is some other format, perhaps compressed.
    #[error("histogram is not HdrHistogram V2 uncompressed")]
    NotV2,
    /// Its bounds or digits differ from ours.
    #[error("histogram has other bounds than 1 ns to 1 h with 3 digits")]
    OtherBounds,
    /// It has more samples than the limit.
    #[error("histogram has more than {COUNT_MAX} samples")]
    OverLimit,
    /// It counts values that are out of its bounds.
    #[error("histogram has a value at index {index}, which is out of its bounds")]
    OutOfBounds {
        /// The place in the list of counts.
        index: u64,
    },
}

/// Reads the list of counts: zigzag varints, where a negative one stands for that many zeros.
fn decode_counts(mut payload: &[u8]) -> Result<Histogram, DecodeError> {
    let mut histogram = Histogram::new();
    let mut index = 0_u64;
    while !payload.is_empty() {
        let encoded = varint(&mut payload).ok_or(DecodeError::CutOff)?;
        let (half, is_zeros) = (encoded >> 1, encoded & 1 == 1);
        if is_zeros {
            index = index.saturating_add(half).saturating_add(1);
            continue;
        }
        if half > 0 {
            let value = value_at(index).ok_or(DecodeError::OutOfBounds { index })?;
            if half > COUNT_MAX - histogram.count() {
                return Err(DecodeError::OverLimit);
            }
            histogram
                .counts
                .record_n(value, half)
                .map_err(|_| DecodeError::OutOfBounds { index })?;
        }
        index = index.saturating_add(1);
    }
    Ok(histogram)
}

/// Takes a LEB128 number of at most nine bytes, the last of which has eight bits.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let is_last = place == 8 || byte & 0x80 == 0;
        let bits = if place == 8 { *byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * place);
        if is_last {
            break;
        }
    }
    Some(number)
}

/// The lowest value that is counted at `index`: the first 2048 one by one, then 1024 for each doubling.
fn value_at(index: u64) -> Option<u64> {
    let value = match index.checked_sub(HALF) {
        None => index,
        Some(above) => {
            let doubled = 1_u64.checked_shl(u32::try_from(above / HALF).ok()?)?;
            (HALF + above % HALF).checked_mul(doubled)?
        }
    };
    (value <= Histogram::MAX.0).then_some(value)
}

/// The header after cookie and length: normalizing offset, digits, bounds, ratio of integers to doubles.
fn bounds() -> [u8; HEADER_SIZE - 8] {
    let mut bounds = [0; HEADER_SIZE - 8];
    bounds[4..8].copy_from_slice(&u32::from(DIGITS).to_be_bytes());
    bounds[8..16].copy_from_slice(&1_u64.to_be_bytes());
    bounds[16..24].copy_from_slice(&Histogram::MAX.0.to_be_bytes());
    bounds[24..].copy_from_slice(&1.0_f64.to_be_bytes());
    bounds
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to memory does not fail");
}

#[expect(clippy::cast_precision_loss, reason = "at most an hour: exact")]
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// The first bytes of a V2 histogram: the format's number, and 16-bit words.
const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
const HEADER_SIZE: usize = 40;
/// Half of the sub-buckets that three digits need.
const HALF: u64 = 1024;
/// The most samples: as many as a billion per second would give in three days; keeps sums of many histograms below
/// 2^63.
const COUNT_MAX: u64 = 1 << 48;
/// The resolution of the percentile table; the default of HdrHistogram's own tools.
const STEPS_PER_HALVING: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_and_values_are_those_of_the_library() {
        let counts = Histogram::new().counts;
        for (index, step) in counts.iter_all().enumerate() {
            let index = u64::try_from(index).unwrap();
            let lowest = counts.lowest_equivalent(step.value_iterated_to());
            assert_eq!(value_at(index), (lowest <= Histogram::MAX.0).then_some(lowest), "{index}");
        }
        for index in [33_792, 64 * 1024, 65 * 1024, 66 * 1024, u64::MAX] {
            assert_eq!(value_at(index), None, "{index}");
        }
    }
}
