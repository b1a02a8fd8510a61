/** What a command did. */
export interface Output {
  sandboxId: string;
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** What trying something came to. */
export interface Attempt {
  output: Output;
  /** The sandbox that the agent went on in, where it had to go back. */
  wentBackTo?: string;
}

/** What a small change in place came to. */
export interface Change {
  output: Output;
  /** What the agent has undone, as a diff; absent where the change stays. */
  undone?: string;
}
