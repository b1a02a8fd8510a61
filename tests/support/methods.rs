//! The methods of the ports.

/// A method of the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    Status,
    ImageNames,
    PlatformImage,
    SetName,
    Configure,
    Destroy,
    SetIdleTimeout,
    SetEnv,
    CreateBackup,
    StartFromPlatformSnapshot,
    RestoreBackup,
    Probe,
    MakeDirectory,
    AddReplacedNote,
    RemoveReplacedNote,
    UpdateMarker,
    BeginRestore,
    CompleteRestore,
    ListDirectory,
    HashFiles,
    WatchChanges,
    IgnoredNames,
    FindSecrets,
    BeginCapture,
    FinishInventory,
    ReleaseCarrier,
    ClearDirectory,
    FinishRestore,
    ChangedSinceWatch,
    ChangedSinceSave,
    RunHook,
    Freeze,
    Thaw,
    WriteFileParts,
    TakePlatformSnapshot,
    RunCommand,
    WriteInput,
    KillCommand,
    CallBackground,
    CallFiles,
    RunCheckpoint,
    GetMetadata,
    HeadArchive,
    ReadArchivePrefix,
    ReadArchive,
    DiffArchives,
    HashArchive,
    List,
    Delete,
    Claim,
    Release,
    RootId,
    Describe,
    ParentOf,
    Sweep,
    GetForRestore,
    ListSnapshots,
    SetPolicy,
    PlatformSnapshot,
    CheckStorage,
    CheckImage,
    Reserve,
    CheckCondition,
    PrepareExec,
    ConfirmExec,
    FlagReplaced,
    Decommission,
    FindSnapshot,
    SearchLabel,
    LocateSnapshot,
    NewestSnapshot,
    TakeSnapshot,
    Revive,
    AskChangedSinceWatch,
    Autosave,
    LastSavedAt,
    HasEnded,
    SandboxUsage,
    EnsureRunning,
    StopSandbox,
    SwitchRuntime,
    ForkSource,
    Resume,
    ActiveSandbox,
    SandboxIds,
    IsStopped,
    SourceOf,
    OriginOf,
    FindLabel,
    WorkspaceUsage,
    CreateFork,
    UpdateDirectory,
    ListWorkspaces,
    CallTokens,
    Sleep,
}

/// What a call reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The sandboxes.
    Sandboxes = 0,
    /// R2.
    Bucket = 1,
    /// The objects of sandboxes and named workspaces.
    Workspaces = 2,
    /// The Directories.
    Directory = 3,
}

impl Service {
    /// The number of services.
    pub const COUNT: usize = 4;
}

impl Method {
    /// Returns the service that the method calls.
    pub fn service(self) -> Service {
        match self {
            _ if self <= Self::RunCheckpoint => Service::Sandboxes,
            _ if self <= Self::Delete => Service::Bucket,
            _ if self <= Self::CreateFork => Service::Workspaces,
            _ => Service::Directory,
        }
    }

    /// Returns whether the method calls a sandbox. Only these calls have a timeout.
    pub fn is_sandbox_call(self) -> bool {
        self.service() == Service::Sandboxes
    }

    /// Returns whether the method runs a command in a container.
    pub fn is_command(self) -> bool {
        (Self::Probe..=Self::RunCheckpoint).contains(&self)
    }

    /// Returns whether the method changes nothing outside of the service.
    pub fn is_read(self) -> bool {
        let is_read_of_bucket = self.service() == Service::Bucket && self != Self::Delete;
        is_read_of_bucket
            || matches!(
                self,
                Self::Status | Self::ImageNames | Self::PlatformImage | Self::SetName | Self::ListWorkspaces
            )
    }

    /// Returns whether the platform or the service may repeat a message of the method to another object.
    pub fn is_repeatable(self) -> bool {
        (Self::Claim..=Self::Decommission).contains(&self)
    }
}
