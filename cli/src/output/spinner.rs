//! A sign of life on the terminal, while something takes longer than a second.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::ProgressBar;

const SPINNER_DELAY: Duration = Duration::from_secs(1);
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// Turns until it is dropped.
pub struct Spinner(Option<(Sender<()>, JoinHandle<()>)>);

impl Spinner {
    /// One that says what is under way, where the standard error is a terminal.
    pub fn start(what: String) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (ended, end) = channel();
        let thread = std::thread::spawn(move || {
            if end.recv_timeout(SPINNER_DELAY) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new_spinner().with_message(what);
                bar.enable_steady_tick(FRAME_INTERVAL);
                // Until the other end is dropped.
                let _ = end.recv();
                bar.finish_and_clear();
            }
        });
        Self(Some((ended, thread)))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((ended, thread)) = self.0.take() {
            drop(ended);
            let _ = thread.join();
        }
    }
}
