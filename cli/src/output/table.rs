//! Tables, and the details of one object.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::render::lines;
use super::sanitize::{sanitize_for_terminal, sanitize_lines};

/// Formats a table with a header. Cells are sanitized.
pub fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    finish(&mut build_table(header, rows))
}

/// Formats a table whose column at `index` contains numbers.
pub fn table_with_numbers<const N: usize>(
    index: usize,
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = build_table(header, rows);
    if let Some(column) = table.column_mut(index) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    finish(&mut table)
}

fn build_table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Table {
    let mut table = new_table();
    table.set_header(header);
    for row in rows {
        table.add_row(row.iter().map(|text| sanitize_for_terminal(text)));
    }
    table
}

/// Formats the details of one object, with their names. Empty details are omitted. The lines of a detail are in its column.
pub fn details<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut table = new_table();
    for (name, text) in rows.into_iter().filter(|(_, text)| !text.is_empty()) {
        table.add_row([name, &sanitize_lines(&text, "")]);
    }
    finish(&mut table)
}

fn new_table() -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table
}

/// Returns the lines of the table, without trailing spaces.
fn finish(table: &mut Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    lines(table.lines().map(|line| line.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_width_of_their_widest_cell() {
        let rows = [["a".into(), "1.0 kB".into()], ["日本".into(), "12.0 MB".into()]];
        assert_eq!(table_with_numbers(1, ["ID", "SIZE"], rows), "ID       SIZE\na      1.0 kB\n日本  12.0 MB\n");
    }

    #[test]
    fn line_breaks_in_a_cell_are_escaped() {
        assert_eq!(table(["ID"], [["a\nb\u{1b}[0m".into()]]), "ID\na\\nb\\u{1b}[0m\n");
    }

    #[test]
    fn lines_of_a_detail_are_below_each_other() {
        let rows = || [("problem", "one\ntwo\u{1b}[0m\r\n\n  three\n".to_owned()), ("next", "x".to_owned())];
        assert_eq!(details(rows()), "problem  one\n         two\\u{1b}[0m\n\n           three\nnext     x\n");
    }

    #[test]
    fn empty_details_are_omitted() {
        assert_eq!(
            details([("id", "x".into()), ("label", String::new()), ("size", "1 B".into())]),
            "id    x\nsize  1 B\n"
        );
    }
}
