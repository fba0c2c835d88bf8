//! Numbers in decimal digits, as text protocols write them.

/// Appends `number` to `out`.
#[inline]
pub(crate) fn append_decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; DECIMAL_LEN_MAX];
    let mut start = DECIMAL_LEN_MAX;
    loop {
        start -= 1;
        digits[start] += u8::try_from(number % 10).expect("a digit is below 10");
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// The most digits of a number.
pub(crate) const DECIMAL_LEN_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_digits() {
        for number in [0, 1, 9, 10, 99, 100, 65_536, 99_999_999, u64::MAX] {
            let mut out = b"before".to_vec();
            append_decimal(number, &mut out);
            assert_eq!(out, format!("before{number}").as_bytes());
        }
        assert_eq!(u64::MAX.to_string().len(), DECIMAL_LEN_MAX);
    }
}
