export type { SnapshotterBinding } from './binding.ts';
export { SnapshotterClient, type ClientOptions } from './client.ts';
export type { ClientCode, ErrorCode } from './codes.ts';
export type { Download, DownloadName, DownloadOptions, Downloads } from './downloads.ts';
export type { FileStream } from './file-stream.ts';
export {
  ConflictError,
  isSnapshotterError,
  NotFoundError,
  PermanentError,
  PolicyDeniedError,
  ResourceExhaustedError,
  SnapshotterError,
  TransientError,
  UnsupportedError,
  type SnapshotterFailure,
} from './errors.ts';
export {
  ExecStream,
  type ExecEvent,
  type ExecExit,
  type ExecOutput,
  type ExecStreamOptions,
} from './exec-stream.ts';
export type {
  CheckpointOperations,
  CommandOperations,
  FileInput,
  FileOperations,
  TokenOperations,
  ToolOperations,
  WorkspaceOperations,
  WriteOptions,
} from './groups.ts';
export { PERMISSIONS } from './methods.ts';
export type { Answer, CallOptions, Control, OperationName } from './operations.ts';
export { asSnapshotterError } from './recognize.ts';
export type { RetryOptions } from './retry.ts';
export type { AiSdkTool, AiSdkTools, JsonSchema } from './tools/ai-sdk.ts';
export type { AnthropicTools } from './tools/anthropic.ts';
export type { ChatTools, OpenAiTools, ResponseTools } from './tools/openai.ts';
export type { ModelTools } from './tools/model-tools.ts';
export { http, type HttpOptions } from './transport/http.ts';
export { rpc } from './transport/rpc.ts';
export { service, type Binding, type ServiceOptions } from './transport/service.ts';
export type { Call, DownloadCall, ExecCall, Transport } from './transport/transport.ts';
export type * from './types.ts';
export {
  WorkspaceHandle,
  type CommandLine,
  type PromoteOptions,
  type RollbackOptions,
  type WorkspaceDiffOptions,
  type WorkspaceExecOptions,
  type WorkspaceExecStreamOptions,
  type WorkspaceSnapshotOptions,
} from './workspace.ts';
export type { Address } from './workspace-address.ts';
export type { ForksWithHandles, WithHandle, WorkspacesWithHandles } from './workspace-answers.ts';
export type { WorkspaceCheckpoints } from './workspace-checkpoints.ts';
export type { BackgroundCommandOptions, WorkspaceCommands } from './workspace-commands.ts';
export type { WorkspaceFiles } from './workspace-files.ts';
