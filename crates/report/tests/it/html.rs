//! The page for a browser: what it contains, and what it never contains whatever a record says.

use crate::hostile::{EVIL, saying};
use crate::{records, sides, sweeps};
use expect_test::{expect, expect_file};
use record::{Ended, Knee, Level, RowVerdict, Verdict};

#[test]
fn a_chart_alone_is_an_svg_that_needs_nothing_else() {
    let figures = report::figures(&sweeps::cubeia());
    let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "throughput.svg",
            "cpu.svg",
            "response.svg",
            "bandwidth.svg",
            "spectrum.svg",
            "layers.svg"
        ]
    );
    for (name, svg) in &figures {
        let tags = tags(svg);
        assert!(tags.starts_with(&["svg", "title", "desc", "style"].map(str::to_owned)), "{name}");
        assert_eq!(svg.matches("role=\"img\"").count(), 1, "{name}");
    }
    expect_file!["golden/throughput.svg"].assert_eq(&figures[0].1);
}

#[test]
fn the_machine_is_shown_with_its_neighbours() {
    let mut record = records::ladder(&["tcp", "ws"]);
    record.environment.cpus_online = Some(2);
    let block = &mut record.blocks[1];
    block.cpu.others_cores_used = Some(1.2);
    block.neighbours.generator_wait_fraction = Some(0.04);
    block.neighbours.pressure_fraction = Some(0.5);
    let page = report::html(&record);
    let words = "<dt>Neighbours, at most</dt><dd>other programs used 1.20 of 2 CPUs, threads of the generator waited \
                 4.0 % of the time for a CPU, some program waited 50.0 % of the time</dd>";
    assert!(page.contains(words), "{}", page.split("Neighbours").nth(1).unwrap_or("none"));
}

#[test]
fn a_table_that_has_no_more_to_show_stands_on_a_page_once() {
    // The table of two sides is the same on every page; that of a ladder has more columns below.
    let difference =
        sides::difference(spec::Metric::P50, 1.0, [0.98, 1.02], record::Change::NotShown, 0.021);
    let page = report::html(&sides::with(&[difference]));
    assert_eq!(page.matches("none, from 2.1 % on").count(), 1);
    let tables = |page: &str| page.matches("<th scope=\"col\" class=\"words\">rung</th>").count();
    let page = report::html(&records::ladder(&["tcp", "ws"]));
    assert!(tables(&page) > 1, "{}", tables(&page));
}

#[test]
fn names_of_knees_stay_in_the_plot_in_the_larger_letters_of_a_narrow_page_too() {
    let mut record = sweeps::cubeia();
    for step in 1..250 {
        let at = 100.0 * f64::from(step);
        record.sweep.as_mut().unwrap().lines[1].knee = Knee::Found {
            offered_per_s: at,
            low_per_s: at * 0.9,
            high_per_s: at * 1.1,
            confirmed: false,
        };
        let (_, svg) = report::figures(&record).remove(0);
        let name = svg.lines().find(|line| line.contains(">WebSocket between ")).unwrap();
        let attribute = |name: &str, text: &str| {
            text.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned()
        };
        let x: f64 = attribute("x", name).parse().unwrap();
        let words = name.split('>').nth(1).unwrap().split('<').next().unwrap();
        let width = words.chars().map(|_| 6.7 * 1.15).sum::<f64>();
        let is_end = attribute("class", name).ends_with("end");
        let (from, to) = if is_end { (x - width, x) } else { (x, x + width) };
        // Numbers of the axis are to the left of the plot, names of lines to its right.
        assert!(from >= 56.0 && to < 480.0, "{at}: {name}");
    }
}

#[test]
fn the_only_line_of_a_sweep_needs_no_name_at_its_knee() {
    let mut record = sweeps::cubeia();
    let sweep = record.sweep.as_mut().unwrap();
    sweep.lines.truncate(1);
    sweep.steps.retain(|step| step.line == 0);
    let (_, svg) = report::figures(&record).remove(0);
    assert!(
        svg.contains(">? 24.0 k/s [23.8, 24.2]<") || svg.contains(">24.0 k/s [23.8, 24.2]<"),
        "{svg}"
    );
}

#[test]
fn a_ladder_is_a_page_with_its_ratios() {
    let record = records::layered(&["tcp", "ws", "wss"]);
    expect_file!["golden/ladder.html"].assert_eq(&redacted(&report::html(&record)));
    let names: Vec<String> = report::figures(&record).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["ratios.svg"]);
}

#[test]
fn rows_in_doubt_have_their_marks_in_drawings_too() {
    let mut record = records::ladder(&["tcp", "ws", "http"]);
    for result in &mut record.results {
        result.round_trip = Some(records::summary(254_321, 1000));
    }
    let row = |level| RowVerdict { level, ..RowVerdict::default() };
    let rows = [Level::Trusted, Level::Degraded, Level::Invalid].map(row).into();
    record.verdict = Some(Verdict { rows, ..Verdict::default() });
    let names = |file: &str| {
        let (_, svg) = report::figures(&record).into_iter().find(|(name, _)| name == file).unwrap();
        let all = ["tcp", "? ws", "x http", "ws", "http"];
        all.into_iter().filter(|name| svg.contains(&format!(">{name}<"))).collect::<Vec<_>>()
    };
    assert_eq!(names("spectrum.svg"), ["tcp", "? ws", "x http"]);
    assert_eq!(names("ratios.svg"), ["? ws"]);
}

#[test]
fn a_lab_is_a_page_with_a_drawing_of_ratios_for_each_load() {
    let record = records::lab();
    expect_file!["golden/lab.html"].assert_eq(&redacted(&report::html(&record)));
    let names: Vec<String> = report::figures(&record).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["spectrum.svg", "ratios.svg", "ratios-2.svg"]);
}

#[test]
fn what_was_published_is_set_beside_what_was_found() {
    let page = report::html(&sweeps::cubeia());
    let (_, findings) = page.split_once("<h2>Against the published figures</h2>").unwrap();
    let (findings, _) = findings.split_once("</section>").unwrap();
    expect![[r#"
        Cubeia, made up.
        The knee
        published: about 1500 events/s
        here: holds: WebSocket 15.2 k/s [15.0, 15.4], binary 24.0 k/s [23.8, 24.2]: WebSocket gives way first. How many events that is depends on the machine.
        Throughput
        published: within 1 % of each other
        here: holds: at 8 loads that both carried they differ by 0 % at most. By the rule itself it cannot be much more: whoever carries a load misses less than 1 % of it.
        Response time
        published: well under 60 ms at 2000 events/s
        here: holds: WebSocket at 2.00 k/s: p50 258 us, p99 433 us, mean 272 us; binary at 2.00 k/s: p50 176 us, p99 291 us, mean 185 us. Ours count from when an event was due, and the percentile is beside the mean that hides it.
        Bandwidth
        published: WebSocket takes about 20 % more
        here: does not hold: an event at 2.00 k/s costs WebSocket more by: payload 0 %, encoded messages (packets or JSON) +96.0 %, the stream, framing included +107 %, the stream with TCP and IP as estimated +30.7 %, what the interface counted +30.6 %. It is true of none of them. At 12.0 k/s, where more events share a segment, the stream with TCP and IP is +30.7 %.
        CPU idle
        published: falls in parallel for both
        here: does not hold: for each 1000 events/s it falls by 3.58 points on binary and by 5.66 on WebSocket: 1.58x as fast. Generator and server share this machine, and both are included.
        The closed loop
        published: 1 % missing is the knee
        here: by arithmetic: WebSocket at 15.0 k/s, its last step below the knee: a mean of 2.80 ms would take off 0.3 %.
        Pigeons
        published: are slower
        here: not shown: there is no line `carrier pigeon`.
        Machines and years differ: compare the shape and the ratios.
    "#]].assert_eq(&texts(findings));

    let mut other = sweeps::cubeia();
    other.sweep.as_mut().unwrap().published = None;
    assert!(!report::html(&other).contains("Cubeia"));
}

#[test]
fn every_kind_of_record_is_a_page_without_a_way_out() {
    let all = [
        sweeps::cubeia(),
        records::ladder(&["tcp", "ws"]),
        records::layered(&["tcp", "ws", "wss", "https-new", "ws-deflate"]),
        records::run(),
        records::open(),
        records::bots(),
        records::lab(),
    ];
    for record in all {
        let page = report::html(&record);
        check_whole(&page);
        for way_out in ["http:", "https:", "src=", "href=", "url(", "@import", "<link", "<iframe"] {
            assert!(!page.contains(way_out), "{way_out} in {:?}", record.kind);
        }
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn nothing_that_a_record_says_becomes_a_part_of_the_page() {
    for record in
        [sweeps::cubeia(), records::layered(&["tcp", "ws"]), records::open(), records::lab()]
    {
        let [harmless, evil] = ["words", EVIL].map(|text| report::html(&saying(&record, text)));
        check_whole(&evil);
        assert_eq!(tags(&harmless), tags(&evil));
        assert!(evil.contains("&#60;img src=x"), "it is shown");
        for broken in ["<img", "\u{1b}", "\u{202e}", "\0"] {
            assert!(!evil.contains(broken), "{broken:?}");
        }
        for (_, svg) in report::figures(&saying(&record, EVIL)) {
            assert!(!tags(&svg).iter().any(|tag| tag == "img" || tag == "script"));
        }
    }
}

#[test]
fn what_is_missing_says_why() {
    let mut record = sweeps::cubeia();
    record.environment.cpus_online = None;
    let sweep = record.sweep.as_mut().unwrap();
    sweep.lines[0].knee = Knee::NotReached {
        offered_max_per_s: 30_000.0,
        reason: "the generator was at its limit".to_owned(),
    };
    for step in &mut sweep.steps {
        step.interface_bytes_per_s = None;
    }
    let page = report::html(&record);
    for words in [
        "above 30.0 k/s",
        "the generator was at its limit",
        "How many CPUs there are is not known",
        "interface: not known for any step",
        "this kernel does not say",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_run_that_was_cut_short_says_so() {
    let mut record = records::run();
    record.ended = Ended::Interrupted { signal: 2 };
    assert!(report::html(&record).contains("ended by SIGINT, Ctrl-C"));
    record.blocks.clear();
    record.results.clear();
    check_whole(&report::html(&record));
}

/// Checks that every element that is opened is closed, in order, and that none has a handler.
fn check_whole(page: &str) {
    let mut open: Vec<String> = Vec::new();
    for tag in all_tags(page) {
        assert!(!tag.contains(" on"), "{tag}");
        let name = name_of(&tag);
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed), "before {tag}");
        } else if !tag.ends_with('/') && !["!DOCTYPE", "br", "meta"].contains(&name) {
            open.push(name.to_owned());
        }
    }
    assert_eq!(open, Vec::<String>::new());
}

/// The names of all elements that begin in `text`.
fn tags(text: &str) -> Vec<String> {
    let all = all_tags(text).into_iter().map(|tag| name_of(&tag).to_owned());
    all.filter(|name| !name.starts_with('/')).collect()
}

fn name_of(tag: &str) -> &str {
    tag.split([' ', '\n']).next().unwrap_or_default().trim_end_matches('/')
}

/// All texts between `<` and `>`, as a browser reads them: a `>` may be quoted, and a script or a style contains no
/// elements.
fn all_tags(text: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        let mut quote = None;
        let end = after.find(|letter| match (quote, letter) {
            (None, '>') => true,
            (None, '"' | '\'') => {
                quote = Some(letter);
                false
            }
            (Some(open), letter) if open == letter => {
                quote = None;
                false
            }
            _ => false,
        });
        let Some(end) = end else { break };
        let tag = &after[..end];
        tags.push(tag.to_owned());
        rest = &after[end + 1..];
        if let raw @ ("script" | "style") = name_of(tag) {
            let close = format!("</{raw}");
            let at = rest.find(&close).unwrap_or(rest.len());
            rest = &rest[at..];
        }
    }
    tags
}

/// The page without scripts and styles, which are built elsewhere and embedded unchanged.
fn redacted(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some(at) = ["<style>", "<script>"].iter().filter_map(|tag| rest.find(tag)).min() {
        let inside = at + rest[at..].find('>').unwrap_or(0) + 1;
        let end = inside + rest[inside..].find("</").unwrap_or(0);
        text += &rest[..inside];
        rest = &rest[end..];
    }
    text += rest;
    let (before, policy) = text.split_once("script-src").unwrap_or((&text, ""));
    let (_, after) = policy.split_once("; base-uri").unwrap_or_default();
    // The policy names scripts and styles by the hashes of what is left out.
    format!("{before}script-src …; base-uri{after}")
}

/// A line for each piece of text.
fn texts(html: &str) -> String {
    let mut lines = Vec::new();
    for piece in html.split('<') {
        let text = piece.split_once('>').map_or("", |(_, text)| text).trim();
        if !text.is_empty() {
            lines.push(text.to_owned());
        }
    }
    lines.join("\n") + "\n"
}
