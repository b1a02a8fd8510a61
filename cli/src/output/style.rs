//! The colours, and what they mean.

use anstyle::{AnsiColor, Style};

/// What stands out.
pub const STRONG: Style = Style::new().bold();
/// What matters less.
pub const FAINT: Style = Style::new().dimmed();
/// What is well, or was added.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What is wrong, or was removed.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What was removed.
pub const REMOVED: Style = AnsiColor::Red.on_default();
/// What is to be watched.
pub const WARNING: Style = AnsiColor::Yellow.on_default();
/// Where one is.
pub const LOCATION: Style = AnsiColor::Cyan.on_default();

/// A text in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
