import type { Code, Kind } from './types.ts';

/**
 * The codes of the client itself:
 *
 * - `SERVICE_UNREACHABLE` (transient): the call did not reach the snapshotter, and had no effect.
 * - `ANSWER_LOST` (transient): the call was sent, but no answer arrived. It may have taken effect.
 * - `FOREIGN_ANSWER` (permanent): the answer is not from the snapshotter, but for example from a proxy.
 * - `RPC_UNSUPPORTED` (unsupported): the binding has no such RPC method. The call had no effect.
 */
export type ClientCode = 'SERVICE_UNREACHABLE' | 'ANSWER_LOST' | 'FOREIGN_ANSWER' | 'RPC_UNSUPPORTED';

/** The stable code of a failure, for programs. A later snapshotter may have codes that this client does not define. */
export type ErrorCode = Code | ClientCode | (string & {});

/** The kind of each code of the snapshotter, for errors that lost their other properties over RPC. */
export const KINDS: Readonly<Record<Code, Kind>> = {
  SNAPSHOT_BUSY: 'transient',
  DIRECTORY_UNAVAILABLE: 'transient',
  TOKENS_UNAVAILABLE: 'transient',
  LEDGER_UNAVAILABLE: 'transient',
  SANDBOX_STARTING: 'transient',
  SANDBOX_UNAVAILABLE: 'transient',
  SANDBOX_TIMEOUT: 'transient',
  SANDBOX_UNRESPONSIVE: 'transient',
  SANDBOX_BUSY: 'transient',
  RESTORE_FAILED: 'transient',
  OPERATION_INTERRUPTED: 'transient',
  STORAGE_UNAVAILABLE: 'transient',
  ABORTED: 'transient',
  R2_BINDING_MISSING: 'permanent',
  WORKSPACE_BINDING_MISSING: 'permanent',
  SANDBOX_BINDING_MISSING: 'permanent',
  CONFIG_INVALID: 'permanent',
  INVALID_ARGUMENT: 'permanent',
  INVALID_SANDBOX_ID: 'permanent',
  INVALID_DIRECTORY: 'permanent',
  INVALID_LABEL: 'permanent',
  INVALID_REF: 'permanent',
  FOREIGN_REF: 'permanent',
  INVALID_WORKSPACE_NAME: 'permanent',
  HOOK_FAILED: 'permanent',
  INVALID_CHECKPOINT_NAME: 'permanent',
  CHECKPOINT_FAILED: 'permanent',
  SANDBOX_FAILED: 'permanent',
  BACKUP_CONFIG_INVALID: 'permanent',
  BACKUP_FAILED: 'permanent',
  BACKUP_INCOMPLETE: 'permanent',
  LEDGER_CORRUPT: 'permanent',
  INTERNAL: 'permanent',
  SNAPSHOT_HAS_DEPENDENTS: 'conflict',
  LABEL_TAKEN: 'conflict',
  RUNTIME_MISMATCH: 'conflict',
  NAME_TAKEN: 'conflict',
  WORKSPACE_DIVERGED: 'conflict',
  NOTHING_RESTORABLE: 'conflict',
  OTHER_LINEAGE: 'conflict',
  OTHER_DIRECTORY: 'conflict',
  SNAPSHOT_STALE: 'conflict',
  IDEMPOTENCY_CONFLICT: 'conflict',
  NOT_A_FILE: 'conflict',
  FILE_EXISTS: 'conflict',
  FILE_CHANGED: 'conflict',
  DIRECTORY_NOT_EMPTY: 'conflict',
  NOT_A_DIRECTORY: 'conflict',
  SANDBOX_NOT_RUNNING: 'conflict',
  SANDBOX_REPLACED: 'conflict',
  SANDBOX_EMPTY: 'conflict',
  WORKSPACE_UNAVAILABLE: 'conflict',
  BACKUP_INTERRUPTED: 'conflict',
  SNAPSHOT_NOT_FOUND: 'not_found',
  IMAGE_NOT_FOUND: 'not_found',
  WORKSPACE_NOT_FOUND: 'not_found',
  COMMAND_NOT_FOUND: 'not_found',
  CHECKPOINT_NOT_FOUND: 'not_found',
  FILE_NOT_FOUND: 'not_found',
  TOOL_NOT_FOUND: 'not_found',
  BACKUP_NOT_FOUND: 'not_found',
  BACKUP_EXPIRED: 'not_found',
  ROUTE_NOT_FOUND: 'not_found',
  PAYLOAD_TOO_LARGE: 'resource_exhausted',
  TOO_MANY_TOKENS: 'resource_exhausted',
  UNSUPPORTED: 'unsupported',
  EXCLUDE_UNSUPPORTED: 'unsupported',
  UNSUPPORTED_REF_VERSION: 'unsupported',
  LEDGER_TOO_NEW: 'unsupported',
  GIT_MISSING: 'unsupported',
  ARCHIVE_UNREADABLE: 'unsupported',
  SANDBOX_UNSUPPORTED: 'unsupported',
  METHOD_NOT_ALLOWED: 'unsupported',
  UNSUPPORTED_MEDIA_TYPE: 'unsupported',
  API_TOKEN_MISSING: 'policy_denied',
  UNAUTHORIZED: 'policy_denied',
  REF_MISMATCH: 'policy_denied',
  CROSS_LINEAGE: 'policy_denied',
  OTHER_TENANT: 'policy_denied',
  PERMISSION_MISSING: 'policy_denied',
  NOT_PERMITTED: 'policy_denied',
};

/** Returns the kind of a code; `permanent` for a code that only a later snapshotter defines. */
export function kindOf(code: string): Kind {
  return isKnown(code) ? KINDS[code] : 'permanent';
}

/** Returns whether this client defines the code. */
export function isKnown(code: string): code is Code {
  return Object.hasOwn(KINDS, code);
}
