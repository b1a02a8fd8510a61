//! A spinner on the terminal, for calls that take longer than one second.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::ProgressBar;

const SPINNER_DELAY: Duration = Duration::from_secs(1);
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// A spinner that stops on drop.
pub struct Spinner(Option<(Sender<()>, JoinHandle<()>)>);

impl Spinner {
    /// Starts a spinner with a message, if the standard error is a terminal.
    pub fn start(message: String) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (ended, end) = channel();
        let thread = std::thread::spawn(move || {
            if end.recv_timeout(SPINNER_DELAY) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new_spinner().with_message(message);
                bar.enable_steady_tick(FRAME_INTERVAL);
                // Returns when the sender is dropped.
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
