//! The screen: shows a run in progress on the full terminal, with keys.
//!
//! `state` turns the events of a run into numbers, `page` these into lines. A run never waits for its screen: a slow
//! one misses intervals ([`run::Listener`]).

mod page;
mod state;

use engine::clock::Clock;
use page::View;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::widgets::Paragraph;
use run::{Heard, Listener, RateWish};
use signal_hook::consts::SIGINT;
use signal_hook::low_level::raise;
use state::State;
use std::io::{self, BufWriter, Stderr, stderr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use units::{Instant, Nanos};

/// The screen of a run.
pub(crate) struct Screen {
    /// Buffered, so that a picture is one write instead of one for each piece.
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
    state: State,
    view: View,
    /// The numbers that are shown while the screen is frozen.
    frozen: Option<State>,
}

/// The reason why a screen ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The run is over.
    Over,
    /// The run was asked to stop; more events may follow.
    Stopped,
}

impl Screen {
    /// Takes over the terminal. `heading` names the run; in a sweep each block is a step with a row of its own.
    ///
    /// # Errors
    ///
    /// The terminal cannot be set up; it is left as it was.
    pub(crate) fn open(heading: &str, is_sweep: bool) -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        let opened = enable_raw_mode()
            .and_then(|()| execute!(stderr(), EnterAlternateScreen, Hide))
            .and_then(|()| Terminal::new(CrosstermBackend::new(BufWriter::new(stderr()))));
        let terminal = opened.inspect_err(|_| give_back())?;
        let state = State::new(heading, is_sweep);
        Ok(Self { terminal, state, view: View::default(), frozen: None })
    }

    /// Takes an event that was heard before.
    pub(crate) fn take(&mut self, event: &run::Event, elapsed: Nanos) {
        self.state.take(event, elapsed);
    }

    /// Shows the run until it is over, or is asked to stop: by a key, or by a signal, whose number is then in
    /// `stopped_by`. Keys ask `rate` for another rate.
    ///
    /// # Errors
    ///
    /// The terminal is gone.
    pub(crate) fn show(
        &mut self,
        listener: &Listener,
        clock: &Clock,
        stopped_by: &AtomicUsize,
        rate: &RateWish,
    ) -> io::Result<End> {
        let mut draw_at = Nanos::ZERO;
        while stopped_by.load(Ordering::Relaxed) == 0 {
            let heard = listener.wait(DRAWN_EVERY);
            let elapsed = clock.now().since(Instant::START);
            match heard {
                Heard::Event(event) => self.state.take(&event, elapsed),
                Heard::Nothing => self.state.elapsed = elapsed,
                Heard::Over => return Ok(End::Over),
            }
            let mut is_due = elapsed >= draw_at;
            while poll(Duration::ZERO)? {
                match read()? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => {
                        self.press(key, rate)?
                    }
                    Event::Resize(..) => {}
                    Event::FocusGained
                    | Event::FocusLost
                    | Event::Key(_)
                    | Event::Mouse(_)
                    | Event::Paste(_) => {
                        continue;
                    }
                }
                is_due = true;
            }
            if is_due {
                self.draw()?;
                draw_at = elapsed + DRAWN_EVERY;
            }
        }
        Ok(End::Stopped)
    }

    /// The warnings that were shown.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.state.warnings
    }

    fn press(&mut self, key: KeyEvent, rate: &RateWish) -> io::Result<()> {
        let KeyCode::Char(letter) = key.code else { return Ok(()) };
        match letter {
            // In raw mode Ctrl-C is a key like any other.
            'c' if key.modifiers.contains(KeyModifiers::CONTROL) => raise(SIGINT)?,
            'q' => raise(SIGINT)?,
            'd' => self.view.has_details = !self.view.has_details,
            ' ' => {
                self.view.is_frozen = !self.view.is_frozen;
                self.frozen = self.view.is_frozen.then(|| self.state.clone());
            }
            '+' | '=' | '-' => {
                if let Some(wanted) = self.state.other_rate(letter != '-') {
                    rate.ask(wanted);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn draw(&mut self) -> io::Result<()> {
        let (state, view) = (self.frozen.as_ref().unwrap_or(&self.state), self.view);
        self.terminal.draw(|frame| {
            let (area, size) = (frame.area(), frame.area().as_size());
            let lines = page::lines(state, view, size.width.into(), size.height.into());
            frame.render_widget(Paragraph::new(lines), area);
        })?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
        drop(std::panic::take_hook());
    }
}

/// Restores the terminal. If that fails, there is nowhere to report it.
fn give_back() {
    disable_raw_mode().ok();
    execute!(stderr(), Show, LeaveAlternateScreen).ok();
}

/// The time between two pictures.
const DRAWN_EVERY: Nanos = Nanos::from_millis(200);

#[cfg(test)]
mod tests;
