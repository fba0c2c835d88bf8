//! Display of quantities for people: three significant digits, no trailing zeros.

/// `value / factor` as an exact decimal without trailing zeros; `factor` is a power of ten.
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

/// `value` rounded to three significant digits, half up; down where rounding up would overflow.
pub(crate) fn three_digits(value: u64) -> u64 {
    let Some(excess) = value.checked_ilog10().unwrap_or(0).checked_sub(2) else {
        return value;
    };
    let power = 10_u64.pow(excess);
    value.checked_add(power / 2).unwrap_or(value) / power * power
}

/// `value / factor` to three significant digits, or to the nearest whole number if that has more digits.
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
