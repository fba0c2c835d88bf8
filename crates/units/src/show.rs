//! Writing quantities so that people read them easily: three significant digits, no zeros that say nothing.

/// `value / factor` as a decimal, exact, without zeros at the end; `factor` is a power of ten.
pub(crate) fn decimal(value: u64, factor: u64) -> String {
    let whole = value / factor;
    let fraction = value % factor;
    if fraction == 0 {
        return whole.to_string();
    }
    let width = factor.ilog10() as usize;
    let digits = format!("{fraction:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// `value` with all but its first three digits rounded to zeros, half up; down where up would not fit.
pub(crate) fn three_digits(value: u64) -> u64 {
    let Some(excess) = value.checked_ilog10().unwrap_or(0).checked_sub(2) else {
        return value;
    };
    let power = 10_u64.pow(excess);
    value.checked_add(power / 2).unwrap_or(value) / power * power
}

/// `value / factor` to three significant digits or to the whole number, whichever is longer.
#[expect(clippy::cast_precision_loss, reason = "three digits are left of it")]
pub(crate) fn quotient(value: u64, factor: u64) -> String {
    let quotient = value as f64 / factor as f64;
    let decimals = match quotient {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => return format!("{quotient:.0}"),
    };
    let text = format!("{quotient:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
