import type { ErrorCode } from './codes.ts';
import type { Kind, StartedForExec } from './types.ts';

/** A failure as plain data, as the snapshotter serializes it in JSON and over RPC. */
export interface SnapshotterFailure {
  /** The stable code, for programs. */
  readonly code: ErrorCode;
  /** The kind of failure. */
  readonly kind: Kind;
  /** What failed, and for which object. */
  readonly message: string;
  /** What failed, alone, in errors of this package, whose `message` has the code and the remediation too. */
  readonly detail?: string;
  /** How to correct the failure. */
  readonly remediation: string;
  /** Whether the same call may succeed when it is repeated without a change. */
  readonly retryable: boolean;
  /** The id of the call in the snapshotter's log; absent if the error is not from the snapshotter, or if it was lost over RPC. */
  readonly correlationId?: string | undefined;
  /** The exception of the platform, the SDK or the network that caused the failure, if there is one. */
  readonly cause?: unknown;
  /** How the workspace was started, or the sandbox revived, before the call failed; absent if it was running, as in answers. */
  readonly started?: StartedForExec | undefined;
}

/** What separates the remediation in the message of an error. */
export const SEPARATOR = ' → ';

/**
 * The error of a failed call. It is an instance of the subclass of its {@link kind}.
 *
 * The `message` consists of the code, the `detail` and the `remediation`, so that it is complete in a log line, and in an
 * older Worker, which receives nothing else over RPC.
 */
export class SnapshotterError extends Error implements SnapshotterFailure {
  readonly code: ErrorCode;
  readonly kind: Kind;
  /** What failed, and for which object. */
  readonly detail: string;
  readonly remediation: string;
  readonly retryable: boolean;
  readonly correlationId: string | undefined;
  readonly started: StartedForExec | undefined;

  constructor({
    code,
    kind,
    message,
    remediation,
    retryable,
    correlationId,
    cause,
    started,
  }: SnapshotterFailure) {
    super(
      [`${code}: ${message}`, remediation].filter(Boolean).join(SEPARATOR),
      cause === undefined ? undefined : { cause },
    );
    this.code = code;
    this.kind = kind;
    this.detail = message;
    this.remediation = remediation;
    this.retryable = retryable;
    this.correlationId = correlationId;
    this.started = started;
  }

  /** Returns the failure in the format of the snapshotter. */
  toJSON(): SnapshotterFailure {
    const { code, kind, detail: message, remediation, retryable, correlationId, cause, started } = this;
    return { code, kind, message, remediation, retryable, correlationId, cause, started };
  }

  static {
    // All subclasses have the same name, by which another client recognizes them over RPC.
    this.prototype.name = 'SnapshotterError';
  }
}

/** A transient failure: the same call may succeed later. */
export class TransientError extends SnapshotterError {
  declare readonly kind: 'transient';
}

/** A failure that persists until the arguments, the configuration or the sandbox change. */
export class PermanentError extends SnapshotterError {
  declare readonly kind: 'permanent';
}

/** The current state of the sandbox does not allow the call. */
export class ConflictError extends SnapshotterError {
  declare readonly kind: 'conflict';
}

/** The object does not exist, or does not exist any more. */
export class NotFoundError extends SnapshotterError {
  declare readonly kind: 'not_found';
}

/** A limit was reached. */
export class ResourceExhaustedError extends SnapshotterError {
  declare readonly kind: 'resource_exhausted';
}

/** The deployment or the platform does not support the call. */
export class UnsupportedError extends SnapshotterError {
  declare readonly kind: 'unsupported';
}

/** The call is not permitted. */
export class PolicyDeniedError extends SnapshotterError {
  declare readonly kind: 'policy_denied';
}

const CLASSES: Readonly<Record<Kind, typeof SnapshotterError>> = {
  transient: TransientError,
  permanent: PermanentError,
  conflict: ConflictError,
  not_found: NotFoundError,
  resource_exhausted: ResourceExhaustedError,
  unsupported: UnsupportedError,
  policy_denied: PolicyDeniedError,
};

/** An operation in a remediation, by its name over HTTP: `workspaces/create`. */
const OPERATION = /`([a-z]+)\/([a-zA-Z]+)`/g;

/**
 * Creates the error of a failure, as an instance of the class of its kind. Its remediation names operations as this client
 * does: `workspaces.create`.
 */
export function errorOf(failure: SnapshotterFailure): SnapshotterError {
  const remediation = failure.remediation.replaceAll(OPERATION, '`$1.$2`');
  return new CLASSES[failure.kind]({ ...failure, remediation });
}

/** Returns whether a value is a kind that this client defines. */
export function isKind(value: unknown): value is Kind {
  return typeof value === 'string' && Object.hasOwn(CLASSES, value);
}

/**
 * Returns whether a value is a failure of the snapshotter: an error of this package, of another copy of it or of another
 * realm, an error that arrived over RPC with its properties, or an error that was parsed from JSON.
 */
export function isSnapshotterError(value: unknown): value is SnapshotterFailure {
  if (typeof value !== 'object' || value === null) return false;
  const { code, kind, message, remediation, retryable } = value as Partial<SnapshotterFailure>;
  const texts = [code, message, remediation];
  return texts.every((text) => typeof text === 'string') && isKind(kind) && typeof retryable === 'boolean';
}
