//! JUnit XML: the one form of results that every service for continuous integration reads.

use super::{Case, Outcome, cases};
use crate::escape::flow;
use crate::page;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use record::RunRecord;
use std::io;
use units::Nanos;

/// The verdict, the end of the run and every limit of `record`, a test case each. Limits that are not met are failures,
/// and invalid results are errors. Noise that passes is mentioned in the output of its case.
pub fn junit(record: &RunRecord) -> String {
    let suite = Suite {
        name: &page::title(record),
        timestamp: Some(&record.started_at),
        seconds: Nanos(record.duration_ns).as_secs_f64(),
    };
    suite.print(&cases(record))
}

/// The same for a run that has no record, because of `problem`: one case, which is an error. `name` says what was to be
/// measured.
pub fn junit_of_failure(name: &str, problem: &str) -> String {
    let case = Case {
        row: String::new(),
        name: "measured".to_owned(),
        text: problem.to_owned(),
        outcome: Outcome::Invalid,
        share: None,
    };
    Suite { name, timestamp: None, seconds: 0.0 }.print(&[case])
}

struct Suite<'a> {
    name: &'a str,
    timestamp: Option<&'a str>,
    seconds: f64,
}

impl Suite<'_> {
    fn print(&self, cases: &[Case]) -> String {
        let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
        self.write(&mut writer, cases).expect("writing to memory does not fail");
        let text = writer.into_inner();
        String::from_utf8(text).expect("it is written from texts") + "\n"
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>, cases: &[Case]) -> io::Result<()> {
        let count = |is: fn(Outcome) -> bool| cases.iter().filter(|it| is(it.outcome)).count();
        let counts = [
            ("tests", cases.len()),
            ("failures", count(|outcome| matches!(outcome, Outcome::Failed(_)))),
            ("errors", count(|outcome| outcome == Outcome::Invalid)),
        ]
        .map(|(name, count)| (name, count.to_string()));
        let counts = || counts.iter().map(|(name, count)| (*name, count.as_str()));
        let seconds = format!("{:.3}", self.seconds);
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let suites = writer.create_element("testsuites").with_attribute(("name", "wirebench"));
        let suites = suites.with_attributes(counts()).with_attribute(("time", seconds.as_str()));
        suites.write_inner_content(|writer| {
            let name = text(self.name);
            let suite = writer.create_element("testsuite").with_attribute(("name", name.as_str()));
            let suite = suite.with_attributes(counts());
            let suite = suite.with_attributes([("skipped", "0"), ("time", seconds.as_str())]);
            let timestamp = self.timestamp.map(text);
            let timestamp = timestamp.as_deref().map(|at| ("timestamp", at));
            suite.with_attributes(timestamp).write_inner_content(|writer| {
                cases.iter().try_for_each(|case| write_case(writer, case))
            })?;
            Ok(())
        })?;
        Ok(())
    }
}

fn write_case(writer: &mut Writer<Vec<u8>>, case: &Case) -> io::Result<()> {
    let (name, found) = (text(&case.name), text(&case.text));
    let class = if case.row.is_empty() { "wirebench".to_owned() } else { text(&case.row) };
    let element = writer.create_element("testcase");
    let element = element.with_attributes([("classname", class.as_str()), ("name", name.as_str())]);
    element.write_inner_content(|writer| {
        let (element, kind) = match case.outcome {
            Outcome::Passed | Outcome::Doubtful => {
                let output = writer.create_element("system-out");
                output.write_text_content(BytesText::new(&found))?;
                return Ok(());
            }
            Outcome::Failed(kind) => ("failure", kind),
            Outcome::Invalid => ("error", "invalid"),
        };
        let element = writer.create_element(element);
        let element = element.with_attributes([("message", found.as_str()), ("type", kind)]);
        element.write_text_content(BytesText::new(&format!("{name}: {found}")))?;
        Ok(())
    })?;
    Ok(())
}

/// `text` in one line, without characters that XML does not allow; the writer escapes markup.
fn text(text: &str) -> String {
    flow(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
