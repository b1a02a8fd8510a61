//! The command about what workspaces use.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sandbox_snapshotter_client::model::prices::InstanceType;

fn instance_type() -> impl TypedValueParser<Value = InstanceType> {
    PossibleValuesParser::new(InstanceType::ALL.map(|(name, _)| name)).try_map(|name| InstanceType::parse(&name))
}

/// `usage`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter usage @notebook
  snapshotter usage --tenant customer-7 --instance-type standard-1")]
pub struct Usage {
    /// The workspace [default: all workspaces of the tenant]
    #[arg(value_name = "@NAME", conflicts_with = "tenant")]
    pub workspace: Option<String>,
    /// The tenant [default: default]
    #[arg(long, value_name = "TENANT")]
    pub tenant: Option<String>,
    /// The type of the containers, which the cost of their running time depends on
    #[arg(long, value_name = "TYPE", default_value = "lite", value_parser = instance_type())]
    pub instance_type: InstanceType,
    /// Print one page, which begins after this cursor
    #[arg(long, value_name = "CURSOR", conflicts_with = "workspace")]
    pub cursor: Option<String>,
}
