/** The methods of the class. */
import type { BackupHandle, BackupOptions, Expected } from './archives.ts';
import type { FileContent } from './basic-files.ts';
import type { Duration } from './inactivity.ts';
import type { StreamOptions } from './exec-stream.ts';
import type { ExecOptions, ProgramOptions, Ran } from './process.ts';
import type { ExecResult, SnapshotOptions, StartOptions, State } from './sandbox.ts';

/** The settings that `configure` changes. */
export interface Settings {
  /** Accepted for compatibility with the SDK 0.12. An object has the name with which it was created. */
  sandboxName?: unknown;
  sleepAfter?: Duration;
  keepAlive?: boolean;
  /** The name of the image from which the next containers start, in `[containers.images]`; null for that of the class. */
  image?: string | null;
}

/** The methods that are the same on a sandbox and on a session of it. */
export interface SessionMethods {
  /** Runs a command with bash, or with sh where the image has no bash. Starts the container where none runs. */
  exec(command: string, options?: ExecOptions): Promise<ExecResult>;
  /**
   * As `exec`. Returns the output while the command runs, as server-sent events: `data: {"type": "stdout", "data": "…"}`, and
   * at the end `{"type": "complete", "exitCode": 0}`.
   */
  execStream(command: string, options?: StreamOptions): Promise<ReadableStream<Uint8Array>>;
  /** As `exec`, for a program and its arguments, without a shell. Its input is a stream. */
  execProgram(argv: string[], options?: ProgramOptions): Promise<Ran>;
  /** Stores the files of a directory in the bucket. Starts a container where none runs, unless one is expected. */
  createBackup(options: BackupOptions): Promise<BackupHandle>;
  /** Replaces a directory with the files of a backup. Ends the processes that work in the directory. */
  restoreBackup(handle: BackupHandle & Expected): Promise<{ success: true; dir: string; id: string }>;
  /** Sets variables of all later commands; null removes one. */
  setEnvVars(variables: Record<string, string | null | undefined>): Promise<void>;
  /** Writes a file of any size. */
  writeFile(path: string, content: FileContent): Promise<{ success: true; path: string }>;
  /** Reads a file of at most 16 MiB as text. */
  readFile(path: string): Promise<{ success: true; path: string; content: string }>;
  /** Returns whether a file exists. */
  exists(path: string): Promise<{ success: true; path: string; exists: boolean }>;
  /** Creates a directory. */
  mkdir(path: string, options?: { recursive?: boolean }): Promise<{ success: true; path: string }>;
  /** Deletes a file. */
  deleteFile(path: string): Promise<{ success: true; path: string }>;
}

/** The methods that {@link withSnapshots} adds to a class. */
export interface SnapshotMethods extends SessionMethods {
  /** Returns the state of the container, and starts none. */
  getState(): Promise<State>;
  /**
   * Starts the container where none runs: from a snapshot of the platform, or from the image. Returns its id, which no other
   * container has. Does not verify that the platform restored the files of the snapshot.
   */
  startContainer(options?: StartOptions): Promise<string>;
  /** Has the platform store the disk of the running container, without `/run`. Starts none. */
  snapshotContainer(options?: SnapshotOptions): Promise<ContainerSnapshot>;
  /** Sends a signal to the container. Default: SIGTERM. */
  stop(signal?: number): Promise<void>;
  /** Ends the container, and so all its processes and files. */
  destroy(): Promise<void>;
  configure(settings: Settings): Promise<void>;
  setSleepAfter(sleepAfter: Duration): Promise<void>;
  setKeepAlive(keepAlive: boolean): Promise<void>;
  renewActivityTimeout(): Promise<void>;
  /** Returns the id of the container; null where none runs. */
  getContainerPlacementId(): Promise<string | null>;
  /** As `exec`. Commands share no shell, so the token of a session has no effect. */
  execWithSessionToken(command: string, token: string, options?: ExecOptions): Promise<ExecResult>;
  /** As `execStream`. */
  execStreamWithSessionToken(
    command: string,
    token: string,
    options?: StreamOptions,
  ): Promise<ReadableStream<Uint8Array>>;
  getSession(id: string): Promise<SessionMethods & { id: string }>;
  createSession(options?: { id?: string }): Promise<SessionMethods & { id: string }>;
  alarm(info?: AlarmInvocationInfo): Promise<void>;
}
