//! Whatever arrives, a client answers with events or an error, always the same however the input is cut.

use super::{CONNECTED, HANDSHAKEN, SUBSCRIBED, comet, first, opened, second, send};
use crate::script::{Step, play};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_events_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..64),
        is_first in any::<bool>(),
    ) {
        let garbage = if is_first { Step::First(bytes) } else { Step::Second(bytes) };
        let told = play(&comet, &opened([send("0"), garbage, Step::End]));
        prop_assert_eq!(&*told.events[0], "open");
    }

    #[test]
    fn any_batch_is_events_or_an_error(
        batch in proptest::collection::vec(fragment(), 0..6),
        is_first in any::<bool>(),
    ) {
        let body = format!("[{}]", batch.join(","));
        let response = if is_first { first(&body) } else { second(&body) };
        let steps = opened([send("0"), response, Step::Close, Step::End]);
        prop_assert_eq!(&*play(&comet, &steps).events[0], "open");
    }
}

/// A message, or something like it.
fn fragment() -> impl Strategy<Value = String> {
    let inside = |batch: &str| batch[1..batch.len() - 1].to_owned();
    let known = vec![
        inside(HANDSHAKEN),
        inside(SUBSCRIBED),
        inside(CONNECTED),
        r#"{"channel":"/service/client","data":{"a":[1,2]}}"#.to_owned(),
        r#"{"channel":"/service/client","successful":true,"advice":null}"#.to_owned(),
        r#"{"channel":"/meta/connect","successful":true,"advice":{"interval":-1}}"#.to_owned(),
        r#"{"channel":"/meta/disconnect"}"#.to_owned(),
        r#"{"channel":"\u002fservice/client","data":1}"#.to_owned(),
    ];
    (proptest::sample::select(known), 0_usize..400, any::<bool>()).prop_map(
        |(message, at, is_cut)| {
            if is_cut && at < message.len() { message[..at].to_owned() } else { message }
        },
    )
}
