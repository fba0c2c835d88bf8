//! The content of generated messages: bytes that compress as real ones do, or not at all.
//!
//! Everything follows from a seed, and has exactly the requested size. A codec compresses each kind like the real
//! thing: JSON to about a quarter, text to less than half, zeros to almost nothing, random bytes not at all.
//!
//! Start reading at [`payload`].

use spec::PayloadKind;
use units::Random;

/// `size` bytes of a kind; advances `random` past them.
pub(crate) fn payload(kind: PayloadKind, size: usize, random: &mut Random) -> Vec<u8> {
    match kind {
        PayloadKind::Zero => vec![0; size],
        PayloadKind::Json => json(size, random).into_bytes(),
        PayloadKind::Text => words(size, random).into_bytes(),
        PayloadKind::Random => {
            let mut bytes = vec![0; size];
            random.fill(&mut bytes);
            bytes
        }
    }
}

/// The printable character for a random byte; all 64 are equally likely.
pub(crate) fn printable(byte: u8) -> u8 {
    ALPHABET[usize::from(byte % 64)]
}

/// An array of as many records as there is room for; words fill the rest.
fn json(size: usize, random: &mut Random) -> String {
    if size < 2 {
        return digits(size, random);
    }
    let mut text = String::with_capacity(size);
    text.push('[');
    let mut instant_ms = INSTANT_MS + random.below(INSTANT_MS) / 100;
    loop {
        instant_ms += random.below(50);
        let record = record(instant_ms, random);
        let comma = if text.len() > 1 { "," } else { "" };
        if text.len() + comma.len() + record.len() >= size {
            break;
        }
        text += comma;
        text += &record;
    }
    let has_records = text.len() > 1;
    match size - text.len() - 1 {
        left if !has_records && left <= NUMBER_LEN_MAX => text += &digits(left, random),
        0 => {}
        1 => text.push(' '),
        2 => text += &format!(",{}", digits(1, random)),
        left => {
            let comma = if has_records { "," } else { "" };
            text += &format!("{comma}\"{}\"", words(left - 2 - comma.len(), random));
        }
    }
    text.push(']');
    text
}

/// The state of one player.
fn record(instant_ms: usize, random: &mut Random) -> String {
    let mut number = |from: usize, to: usize| from + random.below(to - from);
    let (id, health, room) = (number(10_000, 99_999), number(1, 101), number(1, 40));
    let place = [(); 3].map(|()| (number(0, 1_000), number(0, 100)));
    let [(x, x_cm), (y, y_cm), (z, z_cm)] = place;
    let name = NAMES[number(0, NAMES.len())];
    let state = STATES[number(0, STATES.len())];
    format!(
        "{{\"id\":{id},\"name\":\"{name}\",\"room\":{room},\"state\":\"{state}\",\"health\":{health},\
         \"position\":{{\"x\":{x}.{x_cm:02},\"y\":{y}.{y_cm:02},\"z\":{z}.{z_cm:02}}},\"time\":{instant_ms}}}"
    )
}

/// A number of this many digits, the first of which is not zero.
fn digits(len: usize, random: &mut Random) -> String {
    let digit = |at: usize| if at == 0 { 1 + random.below(9) } else { random.below(10) };
    (0..len)
        .map(digit)
        .filter_map(|digit| char::from_digit(u32::try_from(digit).ok()?, 10))
        .collect()
}

/// Sentences, cut off after `size` bytes.
fn words(size: usize, random: &mut Random) -> String {
    let vocabulary: Vec<&str> = VOCABULARY.split_ascii_whitespace().collect();
    // The word of rank r has the weight 1 / r; a number is looked up in the cumulative weights.
    let mut sum = 0;
    let sums: Vec<usize> = (1..=vocabulary.len())
        .map(|rank| {
            sum += WEIGHT_OF_FIRST / rank;
            sum
        })
        .collect();
    let mut text = String::with_capacity(size + WORD_LEN_MAX);
    let mut begins = true;
    while text.len() < size {
        let at = random.below(sum);
        let word = vocabulary[sums.partition_point(|sum| *sum <= at)];
        let first = if begins { word[..1].to_ascii_uppercase() } else { word[..1].to_owned() };
        begins = random.below(WORDS_IN_SENTENCE) == 0;
        let end = if begins { ". " } else { " " };
        text.extend([&first, &word[1..], end]);
    }
    text.truncate(size);
    text
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .";

/// An instant in 2023, in milliseconds of Unix time.
const INSTANT_MS: usize = 1_700_000_000_000;

/// The longest remainder that a number fills instead of text.
const NUMBER_LEN_MAX: usize = 24;

const NAMES: [&str; 24] = [
    "aldric", "beryl", "caspian", "delphine", "ewan", "fenella", "gareth", "hilde", "isolde",
    "jorun", "kestrel", "leander", "mirabel", "nils", "ottilie", "perrin", "quill", "rosalind",
    "sigurd", "tamsin", "ulric", "vesper", "wren", "yorick",
];

const STATES: [&str; 6] = ["idle", "walking", "running", "fighting", "trading", "away"];

/// Common English words, the most frequent first.
const VOCABULARY: &str = "the of and to a in is it you that he was for on are with as his they be at one have this \
    from or had by hot but some what there we can out other were all your when up use word how said an each she which \
    do their time if will way about many then them would write like so these her long make thing see him two has look \
    more day could go come did my sound no most number who over know water than call first people may down side been \
    now find any new work part take get place made live where after back little only round man year came show every \
    good me give our under name very through just form much great think say help low line before turn cause same mean \
    differ move right boy old too does tell sentence set three want air well also play small end put home read hand \
    port large spell add even land here must big high such follow act why ask men change went light kind off need house \
    picture try us again animal point mother world near build self earth father head stand own page should country \
    found answer school grow study still learn plant cover food sun four thought let keep eye never last door between \
    city tree cross since hard start might story saw far sea draw left late run while press close night real life few \
    stop open seem together next white children begin got walk example ease paper often always music those both mark \
    book letter until mile river car feet care second group carry took rain eat room friend began idea fish mountain \
    north once base hear horse cut sure watch color face wood main enough plain girl usual young ready above ever red \
    list though feel talk bird soon body dog family direct pose leave song measure state product black short numeral \
    class wind question happen complete ship area half rock order fire south problem piece told knew pass farm top \
    whole king size heard best hour better true during hundred remember step early hold west ground interest reach fast";

/// The length of the longest word and what follows it, rounded up.
const WORD_LEN_MAX: usize = 16;

/// A multiple of many ranks, large against their number.
const WEIGHT_OF_FIRST: usize = 1 << 30;

/// The words of a sentence, on average.
const WORDS_IN_SENTENCE: usize = 12;
