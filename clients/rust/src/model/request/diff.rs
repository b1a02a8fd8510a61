//! The request for the differences between two snapshots, or a snapshot and a running sandbox.

use serde::Serialize;
use serde_json::Value;

use super::check_page;
use super::declare::{Content, Field, decode, request};
use super::fields::Fields;
use super::file_source::FileSource;
use super::selection::Selection;
use crate::model::Result;
use crate::model::diff::DiffCursor;
#[cfg(feature = "schema")]
use crate::model::schema::{closed, needs};

request! {
    /// The request for a page of the differences between two snapshots of one lineage, or a snapshot and the present files of
    /// a running sandbox.
    #[cfg_attr(feature = "schema", schemars(rename = "DiffOptions", transform = needs(&["from", "to"])))]
    pub struct DiffRequest {
        /// The selection of the first snapshot, which the differences begin at.
        #[cfg_attr(feature = "schema", schemars(with = "Selection", transform = closed))]
        pub from: NestedSelection,
        /// What the differences lead to: the second snapshot, or a running sandbox or workspace. The call starts none.
        #[cfg_attr(feature = "schema", schemars(with = "FileSource", transform = closed))]
        pub to: NestedFiles,
        /// The cursor of the previous page; the page begins with the first difference if absent.
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        pub cursor: Option<DiffCursor>,
        /// The maximum number of differences on the page. A page can have fewer and still be followed by another one.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::DEFAULT_LIMIT)))]
        pub limit: u32 = |limit| check_page(limit, Self::DEFAULT_LIMIT, Self::MAX_LIMIT),
    }
}

impl DiffRequest {
    /// The default number of differences on a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum number of differences on a page.
    pub const MAX_LIMIT: u32 = 1000;

    /// Returns a request for the first differences between a snapshot and another one, or the files of a running sandbox.
    pub fn of(from: Selection, to: impl Into<FileSource>) -> Self {
        let (from, to) = (NestedSelection(Box::new(from)), NestedFiles(Box::new(to.into())));
        Self { from, to, cursor: None, limit: Self::DEFAULT_LIMIT }
    }
}

/// A snapshot or a running sandbox as one option.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct NestedFiles(pub Box<FileSource>);

impl Field for NestedFiles {
    type Raw = Value;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.required_object(name).map_err(|error| {
            error.with_remediation(
                "Pass the selection of a snapshot, or of present files, such as {\"name\": \"notebook\"}.",
            )
        })
    }
}

impl Content for NestedFiles {
    fn check(raw: Self::Raw) -> Result<Self> {
        decode(&raw).map(|source| Self(Box::new(source)))
    }
}

/// The selection of a snapshot as one option, in a request about several snapshots.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct NestedSelection(pub Box<Selection>);

impl Field for NestedSelection {
    type Raw = Value;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.required_object(name).map_err(|error| {
            error.with_remediation(
                "Pass the selection of a snapshot, such as {\"name\": \"notebook\", \"label\": \"before\"}.",
            )
        })
    }
}

impl Content for NestedSelection {
    fn check(raw: Self::Raw) -> Result<Self> {
        Selection::decode(&raw).map(|selection| Self(Box::new(selection)))
    }
}
