//! Trends: against SciPy (`tests/golden.py`), and by false alarms and power on blocks of known truth.

use stats::{SampleError, Trend};
use units::Random;

const STEADY: [f64; 20] = [
    5.1, 4.8, 5.6, 5.0, 5.3, 4.9, 5.7, 5.2, 5.8, 5.5, 5.4, 6.0, 5.9, 5.5, 6.1, 5.8, 6.2, 5.7, 6.3,
    6.0,
];
const WALK: [f64; 24] = [
    1.0, 1.3, 1.7, 1.6, 1.9, 2.3, 2.2, 1.8, 1.5, 1.6, 1.4, 1.7, 2.1, 2.4, 2.8, 3.0, 2.7, 2.9, 3.3,
    3.1, 2.8, 2.6, 2.9, 3.2,
];

#[test]
fn it_is_that_of_scipy() {
    let golden = [
        (&STEADY[..], [0.05, 0.04, 0.081_818_181_818_181_85, 0.000_238_832_385_023_221_2]),
        (
            &WALK[..],
            [0.083_333_333_333_333_33, 0.04, 0.128_571_428_571_428_56, 0.006_581_066_785_788_056],
        ),
    ];
    for (values, expected) in golden {
        let Trend { slope, low, high, p_value, .. } = Trend::of(&timed(values)).unwrap();
        for (found, expected) in [slope, low, high, p_value].into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
        }
    }
}

#[test]
fn what_falls_is_the_mirror_image_of_what_rises() {
    let rising = Trend::of(&timed(&STEADY)).unwrap();
    let falling = Trend::of(&timed(&STEADY.map(|value| -value))).unwrap();
    assert!((rising.slope + falling.slope).abs() < 1e-12);
    assert!((rising.p_value - falling.p_value).abs() < 1e-12);
    assert!(falling.high < 0.0);
}

#[test]
fn a_constant_has_no_trend_and_few_values_have_none() {
    let found = Trend::of(&timed(&[7.0; 30])).unwrap();
    assert_eq!(found, Trend { slope: 0.0, low: 0.0, high: 0.0, p_value: 1.0, halves: [0.0; 2] });
    let at_once = [(1.0, 2.0); 20];
    assert!(Trend::of(&at_once).is_err(), "no two of them have a slope");
    let few = Trend::of(&timed(&STEADY[..19]));
    assert_eq!(few, Err(SampleError::TooFew { count: 19, min: Trend::VALUES_MIN }));
    let broken = Trend::of(&timed(&[f64::NAN; 20]));
    assert!(matches!(broken, Err(SampleError::NotFinite { .. })));
}

#[test]
fn ten_thousand_blocks_have_the_slope_of_what_they_come_from() {
    let mut random = Random::new(5);
    let values: Vec<f64> =
        (0..10_000).map(|index| 3.0 * f64::from(index) + 50.0 * normal(&mut random)).collect();
    let found = Trend::of(&timed(&values)).unwrap();
    assert!(found.low < 3.0 && 3.0 < found.high && found.high - found.low < 0.01, "{found:?}");
}

#[test]
fn a_block_in_five_that_is_wild_leaves_the_slope() {
    let mut random = Random::new(8);
    let value = |index: u32| {
        let wild = if index.is_multiple_of(5) { 1e6 * normal(&mut random) } else { 0.0 };
        f64::from(index) + wild
    };
    let values: Vec<f64> = (0..60).map(value).collect();
    let found = Trend::of(&timed(&values)).unwrap();
    assert!((found.slope - 1.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn four_steady_numbers_raise_few_false_alarms_even_if_blocks_resemble_those_before_them() {
    // `alike` is the correlation of a block's noise with that of the block before.
    #[rustfmt::skip]
    let table = [
        // blocks, alike, false alarms at most
        (20,       0.0,   0.01),
        (20,       0.5,   0.05),
        (60,       0.0,   0.01),
        (60,       0.3,   0.03),
        (60,       0.5,   0.05),
        (120,      0.5,   0.05),
    ];
    for (blocks, alike, at_most) in table {
        let found = share(800, |random| (0..4).any(|_| is_shown(random, blocks, alike, 0.0)));
        assert!(found <= at_most, "{found} of runs of {blocks} blocks that are {alike} alike");
    }
}

#[test]
fn what_jumped_once_or_came_to_rest_is_not_shown() {
    let mut random = Random::new(9);
    let mut shown = |of: fn(f64) -> f64| {
        let values: Vec<f64> =
            (0..60).map(|index| of(f64::from(index)) + 0.01 * normal(&mut random)).collect();
        Trend::of(&timed(&values)).unwrap().is_shown(1)
    };
    assert!(shown(|at| at / 60.0), "what rises all the time");
    assert!(!shown(|at| if at < 20.0 { 1.0 } else { 2.0 }), "a jump");
    assert!(!shown(|at| at.min(20.0)), "a cache that is full");

    let clear = Trend { slope: 1.0, low: 0.9, high: 1.1, p_value: 1e-9, halves: [1.0, 0.3] };
    assert!(clear.is_shown(4));
    for halves in [[2.0, 0.2], [0.2, 2.0], [2.0, -1.0]] {
        assert!(!Trend { halves, ..clear }.is_shown(4), "{halves:?}");
    }
    let falling = Trend { slope: -1.0, low: -1.1, high: -0.9, halves: [-1.0, -0.3], ..clear };
    assert!(falling.is_shown(4));
    assert!(!Trend { p_value: 0.002, ..clear }.is_shown(4));
}

#[test]
fn a_slope_that_stands_out_is_found_and_its_interval_has_it() {
    // The rise over the whole run, in standard deviations of the noise of a block.
    for (blocks, alike, rise, at_least) in
        [(20, 0.0, 6.0, 0.85), (60, 0.0, 4.0, 0.9), (60, 0.5, 6.0, 0.75), (60, 0.5, 10.0, 0.95)]
    {
        let found = share(300, |random| is_shown(random, blocks, alike, rise));
        assert!(found >= at_least, "{found} of runs of {blocks} blocks that rise by {rise}");
    }
    for (alike, at_least) in [(0.0, 0.93), (0.5, 0.88)] {
        let covered = share(600, |random| {
            let found = trend(random, 60, alike, 3.0);
            let truth = 3.0 / 60.0;
            found.low <= truth && truth <= found.high
        });
        assert!(covered >= at_least, "{covered} of intervals cover the slope: {alike} alike");
    }
}

#[test]
fn a_rise_that_dwarfs_what_is_left_of_it_is_shown_however_alike_neighbours_are() {
    // The residuals form one arch.
    let arch = |block: u8| (f64::from(block) / 23.0 * std::f64::consts::PI).sin();
    let rising = |rise: f64| {
        let values = (0..24).map(|block| rise * f64::from(block) / 23.0 + arch(block));
        Trend::of(&timed(&values.collect::<Vec<f64>>())).unwrap()
    };
    assert!(rising(30.0).is_shown(4), "{:?}", rising(30.0));
    assert!(!rising(9.0).is_shown(4), "{:?}", rising(9.0));
}

fn is_shown(random: &mut Random, blocks: u32, alike: f64, rise: f64) -> bool {
    trend(random, blocks, alike, rise).is_shown(4)
}

/// The trend of blocks that rise by `rise` in all, where noise has a standard deviation of 1.
fn trend(random: &mut Random, blocks: u32, alike: f64, rise: f64) -> Trend {
    let mut noise = normal(random);
    let fresh = (1.0 - alike * alike).sqrt();
    let values: Vec<f64> = (0..blocks)
        .map(|index| {
            noise = alike * noise + fresh * normal(random);
            noise + rise * f64::from(index) / f64::from(blocks)
        })
        .collect();
    Trend::of(&timed(&values)).expect("enough blocks")
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn share(trials: usize, is_so: impl Fn(&mut Random) -> bool) -> f64 {
    let mut random = Random::new(18);
    let count = (0..trials).filter(|_| is_so(&mut random)).count();
    count as f64 / trials as f64
}

fn timed(values: &[f64]) -> Vec<(f64, f64)> {
    (0..).map(|at: u32| f64::from(at)).zip(values.iter().copied()).collect::<Vec<(f64, f64)>>()
}

/// A normal number (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit_f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit_f64()).cos()
}
