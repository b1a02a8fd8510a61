import type { ErrorCode } from './codes.ts';
import type { Kind } from './types.ts';

/** A failure as plain data: what the snapshotter writes, and what survives RPC and JSON. */
export interface SnapshotterFailure {
  /** Stable, for programs. */
  readonly code: ErrorCode;
  readonly kind: Kind;
  /** What happened, to what. */
  readonly message: string;
  /** What to do about it; empty where it was lost on the way. */
  readonly remediation: string;
  /** Whether the same call, made again, may succeed without anything being changed. */
  readonly retryable: boolean;
  /** Also in the snapshotter's log line of the call; absent where it did not tell. */
  readonly correlationId?: string | undefined;
  /** What the platform, the SDK or the network said, where one of them failed. */
  readonly cause?: unknown;
}

/**
 * A failed call. It is an instance of the subclass of its {@link kind}.
 *
 * The `message` begins with the code and ends with what to do about it, so that a log line, and an older Worker that
 * gets nothing else over RPC, have all of it; `detail` is only what happened.
 */
export class SnapshotterError extends Error implements SnapshotterFailure {
  readonly code: ErrorCode;
  readonly kind: Kind;
  /** What happened, to what. */
  readonly detail: string;
  readonly remediation: string;
  readonly retryable: boolean;
  readonly correlationId: string | undefined;

  constructor({ code, kind, message, remediation, retryable, correlationId, cause }: SnapshotterFailure) {
    super(`${code}: ${message} ${remediation}`.trimEnd(), cause === undefined ? undefined : { cause });
    this.code = code;
    this.kind = kind;
    this.detail = message;
    this.remediation = remediation;
    this.retryable = retryable;
    this.correlationId = correlationId;
  }

  /** The failure as the snapshotter writes it in JSON. */
  toJSON(): SnapshotterFailure {
    const { code, kind, detail: message, remediation, retryable, correlationId, cause } = this;
    return { code, kind, message, remediation, retryable, correlationId, cause };
  }

  static {
    // One name for all of them: over RPC it is how the next client knows them.
    this.prototype.name = 'SnapshotterError';
  }
}

/** May pass by itself: the same call can be made again. */
export class TransientError extends SnapshotterError {
  declare readonly kind: 'transient';
}

/** Stays until something is changed: the arguments, the configuration, the sandbox. */
export class PermanentError extends SnapshotterError {
  declare readonly kind: 'permanent';
}

/** The present state of the sandbox does not allow it. */
export class ConflictError extends SnapshotterError {
  declare readonly kind: 'conflict';
}

/** It definitely does not exist (any more). */
export class NotFoundError extends SnapshotterError {
  declare readonly kind: 'not_found';
}

/** A limit was reached. */
export class ResourceExhaustedError extends SnapshotterError {
  declare readonly kind: 'resource_exhausted';
}

/** This deployment or platform can't do it. */
export class UnsupportedError extends SnapshotterError {
  declare readonly kind: 'unsupported';
}

/** The caller may not do it. */
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

/** The error of a failure, of the class of its kind. */
export function errorOf(failure: SnapshotterFailure): SnapshotterError {
  return new CLASSES[failure.kind](failure);
}

/** Whether it is a kind that this client knows. */
export function isKind(value: unknown): value is Kind {
  return typeof value === 'string' && Object.hasOwn(CLASSES, value);
}

/**
 * Whether a value is a failure of the snapshotter: an error of this package, of another copy of it or another realm, one
 * that came over RPC with its properties, or one that was JSON in between.
 */
export function isSnapshotterError(value: unknown): value is SnapshotterFailure {
  if (typeof value !== 'object' || value === null) return false;
  const { code, kind, message, remediation, retryable } = value as Partial<SnapshotterFailure>;
  const texts = [code, message, remediation];
  return texts.every((text) => typeof text === 'string') && isKind(kind) && typeof retryable === 'boolean';
}
