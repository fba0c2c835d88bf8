"""Prints the numbers that the tests of `stats` hold it against, as SciPy computes them.

    python3 -m venv /tmp/v && /tmp/v/bin/pip install scipy==1.17.1 && /tmp/v/bin/python crates/stats/tests/golden.py

The intervals are SciPy's BCa of *our* draws: our random numbers are drawn here again, bit by bit, so that the two
must agree to the last digits and not only roughly.
"""

import dataclasses
import warnings

import numpy
from scipy import stats

MASK = 2**64 - 1

SUBJECT = [106.1, 104.9, 108.2, 103.7, 105.5, 107.3, 106.8, 104.1, 109.9, 105.0]
BASELINE = [100.3, 99.1, 101.7, 98.4, 100.9, 102.2, 99.8, 97.9, 103.5, 100.0]
GAPS = [0.03, 0.17, 2.9, 0.48, 1.1, 0.74, 0.09, 1.9, 0.33, 0.61, 4.2, 0.26]
STEADY = [5.1, 4.8, 5.6, 5.0, 5.3, 4.9, 5.7, 5.2, 5.8, 5.5, 5.4, 6.0, 5.9, 5.5, 6.1, 5.8, 6.2, 5.7, 6.3, 6.0]
WALK = [1.0, 1.3, 1.7, 1.6, 1.9, 2.3, 2.2, 1.8, 1.5, 1.6, 1.4, 1.7, 2.1, 2.4, 2.8, 3.0, 2.7, 2.9, 3.3, 3.1, 2.8, 2.6, 2.9, 3.2]


class Random:
    """`units::Random`: xoshiro256++ seeded through splitmix64, bounds by multiplication."""

    def __init__(self, seed):
        self.state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            mixed = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
            self.state.append(mixed ^ (mixed >> 31))

    def next(self):
        a, b, c, d = self.state
        result = (rotate((a + d) & MASK, 23) + a) & MASK
        shifted = (b << 17) & MASK
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        self.state = [a, b, c, rotate(d, 45)]
        return result

    def below(self, bound):
        return (self.next() * bound) >> 64


def rotate(bits, by):
    return ((bits << by) | (bits >> (64 - by))) & MASK


def interval(samples, statistic, seed=7, resamples=2000):
    """SciPy's BCa interval of `statistic` of pairs, of the draws that `stats::noise` makes."""
    random = Random(seed)
    arrays = [numpy.array(sample) for sample in samples]
    drawn = []
    for _ in range(resamples):
        picks = [random.below(len(arrays[0])) for _ in arrays[0]]
        drawn.append(statistic(*(array[picks] for array in arrays)))
    options = dict(paired=True, vectorized=False, method="BCa", confidence_level=0.95)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        some = stats.bootstrap(arrays, statistic, n_resamples=10, **options)
        ours = dataclasses.replace(some, bootstrap_distribution=numpy.array(drawn))
        result = stats.bootstrap(arrays, statistic, n_resamples=0, bootstrap_result=ours, **options)
    return statistic(*arrays), result.confidence_interval.low, result.confidence_interval.high


def ratio(subject, baseline):
    return numpy.median(subject) / numpy.median(baseline)


def show(name, *numbers):
    print(f"{name:<22}", *(repr(float(number)) for number in numbers))


show("ratio", *interval([SUBJECT, BASELINE], ratio))
show("ratio of nine", *interval([SUBJECT[:9], BASELINE[:9]], ratio))
show("quantiles", *numpy.quantile(SUBJECT, [0, 0.1, 0.25, 0.5, 0.9, 1]))
show("normal below", *stats.norm.cdf([-8, -1.959963984540054, 0, 1, 3]))
show("normal quantile", *stats.norm.ppf([1e-9, 0.025, 0.5, 0.8, 0.975]))
known = dict(known_params=dict(loc=0, scale=1), statistic="ad", n_mc_samples=1)
show("A2 known mean", stats.goodness_of_fit(stats.expon, GAPS, **known).statistic)
estimated = stats.anderson(GAPS, "expon", method="interpolate").statistic
show("A2 estimated mean", estimated * (1 + 0.6 / len(GAPS)))
show("D to exponential", stats.kstest(GAPS, "expon").statistic)
subject = [round(10 * value) for value in SUBJECT]
show("D of two", stats.ks_2samp(subject, [round(10 * value) + 50 for value in BASELINE]).statistic)
show("D of unequal two", stats.ks_2samp(subject, [round(10 * value) + 30 for value in BASELINE[:7]]).statistic)


def trend(name, values):
    """Mann-Kendall and Theil-Sen, with the correction of Hamed and Rao over lags up to the first that is not positive."""
    values = numpy.asarray(values)
    count = len(values)
    low, high = numpy.triu_indices(count, 1)
    score = numpy.sign(values[high] - values[low]).sum()
    ties = numpy.unique(values, return_counts=True)[1]
    variance = (count * (count - 1) * (2 * count + 5) - sum(tie * (tie - 1) * (2 * tie + 5) for tie in ties)) / 18
    slope = stats.theilslopes(values).slope
    ranks = stats.rankdata(values - slope * numpy.arange(count))
    ranks -= ranks.mean()
    auto = numpy.correlate(ranks, ranks, "full")[count:] / (ranks @ ranks)
    auto = auto[: numpy.argmax(auto <= 0)]
    left = count - 1 - numpy.arange(len(auto))
    sums = (left * (left - 1) * (left - 2) * auto).sum()
    variance *= max(1 + 2 * sums / (count * (count - 1) * (count - 2)), 1)
    slopes = numpy.sort((values[high] - values[low]) / (high - low))
    reach = stats.norm.ppf(0.975) * numpy.sqrt(variance)
    ends = round((len(slopes) - reach) / 2) - 1, round((len(slopes) + reach) / 2)
    p_value = 2 * stats.norm.sf((abs(score) - 1) / numpy.sqrt(variance))
    show(name, slope, *slopes[list(ends)], p_value)


trend("trend", STEADY)
trend("trend of a walk", WALK)
