//! Tables, and the details of one thing.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::harmless::safe;
use super::words::lines;

/// A table with a head. Texts are made harmless.
pub fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    end(&mut filled(head, rows))
}

/// A table whose column at `index` holds numbers.
pub fn table_with_numbers<const N: usize>(
    index: usize,
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = filled(head, rows);
    if let Some(column) = table.column_mut(index) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    end(&mut table)
}

fn filled<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Table {
    let mut table = bare();
    table.set_header(head);
    for row in rows {
        table.add_row(row.iter().map(|text| safe(text)));
    }
    table
}

/// The details of one thing, by their names. Those without a text are left out.
pub fn details<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut table = bare();
    for (name, text) in rows.into_iter().filter(|(_, text)| !text.is_empty()) {
        table.add_row([name, &safe(&text)]);
    }
    end(&mut table)
}

fn bare() -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table
}

/// The lines, without the blanks around them.
fn end(table: &mut Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    lines(table.lines().map(|line| line.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_need_to_be() {
        let rows = [["a".into(), "1.0 kB".into()], ["日本".into(), "12.0 MB".into()]];
        assert_eq!(table_with_numbers(1, ["ID", "SIZE"], rows), "ID       SIZE\na      1.0 kB\n日本  12.0 MB\n");
    }

    #[test]
    fn a_cell_keeps_to_its_line() {
        assert_eq!(table(["ID"], [["a\nb\u{1b}[0m".into()]]), "ID\na\\nb\\u{1b}[0m\n");
    }

    #[test]
    fn details_without_a_text_are_left_out() {
        assert_eq!(
            details([("id", "x".into()), ("tag", String::new()), ("size", "1 B".into())]),
            "id    x\nsize  1 B\n"
        );
    }
}
