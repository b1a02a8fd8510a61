/** The result of a command. */
export interface Output {
  sandboxId: string;
  exitCode: number;
  stdout: string;
  stderr: string;
  /** Whether files of the workspace may be lost that its last start did not restore. */
  mayHaveLost?: boolean;
}

/** The result of a risky command. */
export interface Attempt {
  output: Output;
  /** The sandbox with the restored files, if the command failed. The agent continues in it. */
  restoredSandboxId?: string;
}

/** The result of several attempts. */
export interface Best {
  /** The results of the commands, in their order. */
  outputs: Output[];
  /** The index of the command whose files the workspace has now; absent if all commands failed. */
  kept?: number;
}

/** The result of a change in place. */
export interface Change {
  output: Output;
  /** The diff of the changes that the agent reverted, if the command failed. */
  revertedDiff?: string;
}
