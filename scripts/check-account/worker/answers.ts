// The answers of the Worker.

/** The result of a command; `error` if it could not be started. */
export interface Ran {
  exitCode?: number;
  stdout?: string;
  error?: string;
}

/** How `monitor()` ended after `destroy()`. */
export type Monitored = 'resolved' | 'rejected' | 'pending';
