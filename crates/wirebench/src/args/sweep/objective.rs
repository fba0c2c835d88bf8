//! An objective, as in `p99 < 50ms`.

use run::Objective;
use units::Nanos;

/// Reads `p99 < 50ms`; spaces may be left out.
pub(super) fn objective(text: &str) -> Result<Objective, String> {
    let problem = |what: String| format!("{what}; an objective is as in `p99 < 50ms`");
    let (name, limit) =
        text.split_once('<').ok_or_else(|| problem(format!("`{text}` has no `<` in it")))?;
    let name = name.trim();
    let known = stats::PERCENTILES.iter().find(|(known, _)| *known == name);
    let (name, quantile) = known.ok_or_else(|| {
        let all: Vec<&str> = stats::PERCENTILES.iter().map(|(name, _)| *name).collect();
        problem(format!("`{name}` is none of {}", all.join(", ")))
    })?;
    let below: Nanos =
        limit.trim().parse().map_err(|error: units::ParseError| problem(error.to_string()))?;
    if below == Nanos::ZERO {
        return Err(problem("nothing takes less than no time".to_owned()));
    }
    let time = format!("{below:#}").replace(' ', "");
    Ok(Objective { text: format!("{name} < {time}"), quantile: *quantile, below })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_a_percentile_and_a_time_that_it_stays_below() {
        for (text, shown, quantile, millis) in [
            ("p99<50ms", "p99 < 50ms", 0.99, 50),
            (" p99.9 <  1.5s", "p99.9 < 1.5s", 0.999, 1500),
            ("p50 < 2m", "p50 < 2m", 0.5, 120_000),
        ] {
            let below = Nanos::from_millis(millis);
            let expected = Objective { text: shown.to_owned(), quantile, below };
            assert_eq!(objective(text), Ok(expected), "{text}");
        }
        for (text, problem) in [
            ("p99", "`p99` has no `<` in it"),
            ("p98 < 50ms", "`p98` is none of p50, p90, p99, p99.9, p99.99"),
            ("p99 < 0ms", "nothing takes less than no time"),
            ("p99 < 50", "50"),
            ("p99 <= 50ms", "50ms"),
        ] {
            let error = objective(text).unwrap_err();
            assert!(error.contains(problem) && error.contains("as in `p99 < 50ms`"), "{error}");
        }
    }
}
