//! A machine that plays against a script: what it understood and what it sent, the same however the input is cut.

use wire::{Connection, Event, Input, Kind, Layers, Message, Protocol, TwoSockets};

/// The next thing that happens to the machine.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Its owner closes it.
    Close,
    /// The connection ends.
    End,
    /// The second connection ends.
    EndSecond,
    /// Bytes arrive.
    First(Vec<u8>),
    /// Bytes arrive on the second connection.
    Second(Vec<u8>),
    /// Its owner sends a message.
    Send(Vec<u8>),
    /// Its owner sends a text.
    SendText(String),
}

/// The machine's answers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// A line for each event, and for what the owner was told.
    pub(crate) events: Vec<String>,
    /// The bytes that it sent, on the first connection and on the second.
    pub(crate) first: Vec<u8>,
    pub(crate) second: Vec<u8>,
    /// The number of second connections that it wanted after it was opened.
    pub(crate) seconds: u32,
    pub(crate) layers: Layers,
}

/// Opens machines and feeds them `steps`: whole, byte by byte, and with each one cut everywhere. Returns their answers.
pub(crate) fn play(machine: &dyn Fn() -> Connection, steps: &[Step]) -> Told {
    let whole = play_pieces(machine(), steps, &|_, len| vec![len]);
    let bytewise = play_pieces(machine(), steps, &|_, len| vec![1; len]);
    assert_eq!(bytewise, whole, "byte by byte");
    for (index, step) in steps.iter().enumerate() {
        let (Step::First(bytes) | Step::Second(bytes)) = step else { continue };
        for cut in 1..bytes.len() {
            let cut_here =
                |at: usize, len| if at == index { vec![cut, len - cut] } else { vec![len] };
            let told = play_pieces(machine(), steps, &cut_here);
            assert_eq!(told, whole, "step {index} cut at {cut}");
        }
    }
    whole
}

/// The same once, with each step cut into pieces of the lengths that `cut` returns.
fn play_pieces(
    mut machine: Connection,
    steps: &[Step],
    cut: &dyn Fn(usize, usize) -> Vec<usize>,
) -> Told {
    let mut told = Told::default();
    machine.open(&mut told.first);
    told.second.extend(machine.take_second());
    for (index, step) in steps.iter().enumerate() {
        let is_over = match step {
            Step::Close => {
                let is_answered = machine.close(&mut told.first);
                told.events.push(format!("closing, answered: {is_answered}"));
                false
            }
            Step::End => {
                told.events.push(match machine.end() {
                    Ok(event) => format!("end: {}", describe(&event)),
                    Err(error) => format!("end: error: {error}"),
                });
                false
            }
            Step::EndSecond => {
                let is_no_loss = machine.end_second();
                told.events.push(format!("the second ended, no loss: {is_no_loss}"));
                false
            }
            Step::Send(payload) => told.send(&mut machine, Kind::Binary, payload),
            Step::SendText(text) => told.send(&mut machine, Kind::Text, text.as_bytes()),
            Step::First(bytes) | Step::Second(bytes) => {
                let mut rest = &bytes[..];
                let mut is_broken = false;
                for len in cut(index, bytes.len()) {
                    let (piece, after) = rest.split_at(len);
                    rest = after;
                    is_broken |= !told.feed(&mut machine, matches!(step, Step::First(_)), piece);
                    if is_broken {
                        break;
                    }
                }
                is_broken
            }
        };
        if machine.wants_second() {
            told.seconds += 1;
            machine.open_second();
        }
        told.second.extend(machine.take_second());
        if is_over {
            break;
        }
    }
    told.layers = machine.layers();
    told
}

impl Told {
    /// Sends a message. Returns false: the machine may be fed more.
    fn send(&mut self, machine: &mut Connection, kind: Kind, payload: &[u8]) -> bool {
        if let Err(error) = machine.send(Message { kind, payload }, &mut self.first) {
            self.events.push(format!("not sent: {error}"));
        }
        false
    }

    /// Feeds one piece; true if the machine may be fed more.
    fn feed(&mut self, machine: &mut Connection, is_first: bool, piece: &[u8]) -> bool {
        let mut bytes = piece.to_vec();
        let mut input = Input::new(&mut bytes);
        loop {
            let received = if is_first {
                machine.receive(&mut input, &mut self.first)
            } else {
                machine.receive_second(&mut input, &mut self.first)
            };
            match received {
                Ok(None) => {
                    assert!(input.is_empty(), "a machine that needs more has taken all");
                    return true;
                }
                Ok(Some(event)) => self.events.push(describe(&event)),
                Err(error) => {
                    self.events.push(format!("error: {error}"));
                    return false;
                }
            }
        }
    }
}

/// An event as a line of text.
pub(crate) fn describe(event: &Event<'_>) -> String {
    match event {
        Event::Answer(_) | Event::Part(_) | Event::Redirected => format!("{event:?}"),
        Event::Closed(closed) => format!("closed {:?} {:?}", closed.code, closed.reason),
        Event::Message(message) => {
            format!("{:?} {}", message.kind, message.payload.escape_ascii())
        }
        Event::Open => "open".to_owned(),
        Event::Ping(payload) => format!("ping {}", payload.escape_ascii()),
        Event::Pong(payload) => format!("pong {}", payload.escape_ascii()),
        Event::Pushed(pushed) => format!("{:?} {}", pushed.kind, pushed.payload.escape_ascii()),
        Event::Refused { code, body, .. } => format!("refused {code} {}", body.escape_ascii()),
        Event::Response(response) => format!("{response:?}"),
        Event::Secured(secured) => format!("secured, opening {:?}", secured.opening),
    }
}
