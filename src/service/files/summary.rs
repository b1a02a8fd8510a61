//! `files/summary`: how many files and bytes a directory of a snapshot has, and where they are.

use super::{other_answer, to_type};
use crate::model::Result;
use crate::model::archive::{Answer, Name, NamedTotals, Request, Totals};
use crate::model::files::{EntrySummary, FilePath, FileTotals, FilesSummary, LargeFile};
use crate::model::request::SummaryRequest;
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns what a directory of a snapshot contains. Reads the attributes of all files below it, and no content.
    pub async fn summarize_files(&self, request: SummaryRequest) -> Result<FilesSummary> {
        let SummaryRequest { selection, path } = request;
        let path = path.unwrap_or_else(FilePath::root);
        let request = Request::Summarize { path: path.as_str().to_owned() };
        let read = self.read_archive(&selection.into(), &path, &request).await?;
        let Answer::Summary { totals, entries, largest } = read.answer else { return Err(other_answer()) };
        let to_file = |(path, size_bytes): (Name, u64)| LargeFile { path: text(&path), size_bytes };
        Ok(FilesSummary {
            snapshot_id: read.snapshot_id,
            path: path.into(),
            totals: to_totals(totals),
            entries: entries.map(|entries| entries.iter().map(to_entry).collect()),
            largest: largest.into_iter().map(to_file).collect(),
        })
    }
}

fn to_entry(entry: &NamedTotals) -> EntrySummary {
    EntrySummary { name: text(&entry.name), r#type: to_type(entry.kind), totals: to_totals(entry.totals) }
}

const fn to_totals(Totals { files, directories, others, bytes }: Totals) -> FileTotals {
    FileTotals { files, directories, others, size_bytes: bytes }
}

fn text(name: &Name) -> String {
    String::from_utf8_lossy(name.as_bytes()).into_owned()
}
