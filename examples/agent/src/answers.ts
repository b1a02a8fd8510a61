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
