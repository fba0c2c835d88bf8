//! Serde forms for results that travel between machines, of types that JSON cannot hold as they are.
//!
//! The cause of each error is left out of an outcome: it only serves the advice to whoever starts a run, and is in no
//! record.

/// A histogram, as written in records.
pub(crate) mod histogram {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
    use stats::Histogram;

    pub(crate) fn serialize<S: Serializer>(
        histogram: &Histogram,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let text = if histogram.is_empty() { None } else { Some(histogram.to_base64()) };
        text.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram, D::Error> {
        match Option::<String>::deserialize(from)? {
            None => Ok(Histogram::new()),
            Some(text) => Histogram::from_base64(&text).map_err(D::Error::custom),
        }
    }
}

/// A time in whole nanoseconds.
pub(crate) mod nanos {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use units::Nanos;

    pub(crate) fn serialize<S: Serializer>(time: &Nanos, to: S) -> Result<S::Ok, S::Error> {
        time.0.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
        u64::deserialize(from).map(Nanos)
    }
}

/// A window of time.
pub(crate) mod window {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use units::Instant;

    pub(crate) fn serialize<S: Serializer>(
        window: &Option<(Instant, Instant)>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        window.map(|(begin, end)| (begin.0, end.0)).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<(Instant, Instant)>, D::Error> {
        let window = Option::<(u64, u64)>::deserialize(from)?;
        Ok(window.map(|(begin, end)| (Instant(begin), Instant(end))))
    }
}

/// Pairs of instants.
pub(crate) mod instants {
    use serde::{Deserialize, Deserializer, Serializer};
    use units::Instant;

    pub(crate) fn serialize<S: Serializer>(
        pairs: &[(Instant, Instant)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(pairs.iter().map(|(one, other)| (one.0, other.0)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(Instant, Instant)>, D::Error> {
        let pairs = Vec::<(u64, u64)>::deserialize(from)?;
        Ok(pairs.into_iter().map(|(one, other)| (Instant(one), Instant(other))).collect())
    }
}

/// A map whose keys are not plain strings.
pub(crate) mod pairs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    pub(crate) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub(crate) fn deserialize<'de, K, V, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
    {
        Vec::<(K, V)>::deserialize(from).map(|pairs| pairs.into_iter().collect())
    }
}
