//! The colors, and their meanings.

use anstyle::{AnsiColor, Style};

/// Emphasized text.
pub const STRONG: Style = Style::new().bold();
/// Less important text.
pub const FAINT: Style = Style::new().dimmed();
/// A good state, or an added line.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// A problem.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// A removed line.
pub const REMOVED: Style = AnsiColor::Red.on_default();
/// A warning.
pub const WARNING: Style = AnsiColor::Yellow.on_default();
/// A location, or a property of an object.
pub const LOCATION: Style = AnsiColor::Cyan.on_default();

/// Applies a style to a text.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
