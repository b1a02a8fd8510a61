// Type tests: `npm run check` fails if an invalid call below compiles, or a valid one does not.

import type Anthropic from '@anthropic-ai/sdk';
import { jsonSchema, type ToolSet } from 'ai';
import type OpenAI from 'openai';

import {
  http,
  isSnapshotterError,
  rpc,
  service,
  SnapshotterClient,
  type Answer,
  type CallOptions,
  type Kind,
  type OperationName,
  type SnapshotterBinding,
  type SnapshotRef,
  type SnapshotterError,
  type WorkspaceHandle,
} from '../src/index.ts';
import { CloudflareSandboxSnapshotter, type Snapshotter } from '../src/helix.ts';

declare const client: SnapshotterClient;
declare const ref: SnapshotRef;
declare const binding: { fetch: typeof fetch };

/** Compiles only if both types are equal. */
function same<A, B>(
  ..._equal: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? [] : [never]
) {}

export function transports() {
  new SnapshotterClient(service(binding));
  new SnapshotterClient(service(binding, { token: undefined }));
  new SnapshotterClient(rpc(binding), { retry: false });
  new SnapshotterClient(http({ url: 'https://x', token: 'x' }), { retry: { attempts: 2 } });
  // @ts-expect-error: a binding is not a transport
  new SnapshotterClient(binding);
  // @ts-expect-error: HTTP requires a token
  http({ url: 'https://x' });
  // @ts-expect-error: a binding has a fetch
  service({});
}

export function workspaces() {
  type Answers = Answer<'workspaces/start'> &
    Answer<'workspaces/stop'> &
    Answer<'workspaces/list'>['workspaces'][0];
  // No member of an answer has the name of a method of the handle.
  same<Extract<keyof Answers, keyof WorkspaceHandle>, never>();
}

export async function options() {
  const { signal } = new AbortController();
  await client.snapshot({
    sandboxId: 'x',
    label: 'y',
    compression: { format: 'zstd' },
    signal,
    retry: false,
  });
  await client.snapshot({ sandboxId: 'x', signal: undefined });
  // @ts-expect-error: the sandbox is missing
  await client.snapshot({ label: 'y' });
  // @ts-expect-error: a misspelt option
  await client.snapshot({ sandboxId: 'x', lable: 'y' });
  // @ts-expect-error: a number instead of a string
  await client.snapshot({ sandboxId: 42 });
  // @ts-expect-error: an unsupported algorithm
  await client.snapshot({ sandboxId: 'x', compression: { format: 'rar' } });
  // @ts-expect-error: a number instead of a signal
  await client.snapshot({ sandboxId: 'x', signal: 1000 });
  // @ts-expect-error: a call can only disable retries
  await client.snapshot({ sandboxId: 'x', retry: true });
  // @ts-expect-error: the options are missing
  await client.snapshot();
}

export async function selections() {
  await client.restore({ ref });
  await client.restore({ sandboxId: 'x', snapshotId: 'y', lineageScope: 'z' });
  await client.restore({ sandboxId: 'x', label: 'y', allowCrossLineage: true, idempotencyKey: 'k' });
  // @ts-expect-error: a sandbox does not select a snapshot
  await client.restore({ sandboxId: 'x' });
  await client.restore({ ref: 'snap_YWdlbnQtNDI.9rbk8d2dduhnwf6u.1.h9swbdj2cYIBfKq62qHyWh' });
  // @ts-expect-error: a snapshot has one selector
  await client.restore({ sandboxId: 'x', snapshotId: 'y', label: 'z' });
  // @ts-expect-error: a ref selects a snapshot by itself
  await client.restore({ ref, label: 'z' });
  // @ts-expect-error: a ref is an object or a text
  await client.restore({ ref: 1 });
  // @ts-expect-error: a workspace is not a snapshot
  await client.restore({ ref: await client.restore({ ref }) });
  // @ts-expect-error: the new label is missing
  await client.label({ ref });
}

export async function groups() {
  await client.workspaces.getOrCreate({
    name: 'n',
    hooks: { afterStart: { command: 'x' } },
    onDiverged: 'rescue',
  });
  await client.workspaces.list();
  await client.sweep();
  // @ts-expect-error: an undefined value
  await client.workspaces.start({ name: 'n', onDiverged: 'lose' });
  // @ts-expect-error: there is no such operation
  await client.workspaces.rename({ name: 'n' });
  // @ts-expect-error: the name is missing
  await client.checkpoints.create({ sandboxId: 'x' });
  // @ts-expect-error: the workspaces are missing
  await client.tools.list({});
  // @ts-expect-error: there is no such operation
  await client.call('rename', {});
}

export async function handles() {
  const handle = client.workspaces.handle({ name: 'n' });
  await handle.exec('ls', { timeoutSeconds: 1 });
  await handle.exec(['ls', '-l'], { cwd: 'app' });
  await handle.execStream('ls', { stdin: new ReadableStream<Uint8Array>() });
  await handle.commands.start(['npm', 'run', 'dev'], { timeoutSeconds: 600 });
  // @ts-expect-error: the option is in milliseconds elsewhere
  await handle.exec('ls', { timeout: 1000 });
  // @ts-expect-error: the command is missing
  await handle.exec({ timeoutSeconds: 1 });
  // @ts-expect-error: the command is given twice
  await handle.exec('ls', { command: 'ls' });
  // @ts-expect-error: a label is an option
  await handle.snapshot('before');
  // @ts-expect-error: the snapshot is missing
  await handle.rollback();
}

export async function answers() {
  const taken = await client.snapshot({ sandboxId: 'x' });
  same<typeof taken, Answer<'snapshot'>>();
  const size: number = taken.capture.sizeBytes;
  const { ref: workspace, schemaVersion } = await client.restore({ ref: taken });
  const version: 1 = schemaVersion;
  // @ts-expect-error: the id is in the ref
  const id: string = workspace.id;
  for await (const { restorable } of client.snapshots({ sandboxId: 'x' })) {
    same<typeof restorable, 'yes' | 'no' | 'unknown'>();
  }
  for await (const { name } of client.workspaces.all()) same<typeof name, string>();
  return { size, version, id };
}

/** The method of the client for an operation. */
type MethodOf<O extends string> = O extends `${infer Group}/${infer Method}`
  ? Group extends keyof SnapshotterClient
    ? Method extends keyof SnapshotterClient[Group]
      ? SnapshotterClient[Group][Method]
      : never
    : never
  : O extends keyof SnapshotterClient
    ? SnapshotterClient[O]
    : never;
type Takes<O extends OperationName> =
  MethodOf<O> extends (options: CallOptions<O>) => Promise<Answer<O>> ? never : O;
type Missing = { [O in OperationName]: Takes<O> }[OperationName];
same<Missing, never>();

export function errors(thrown: unknown, error: SnapshotterError): Kind {
  // @ts-expect-error: the type of a thrown value is unknown
  thrown.code;
  if (isSnapshotterError(thrown)) same<typeof thrown.retryable, boolean>();
  if (error.code === 'SNAPSHOT_HAS_DEPENDENTS' || error.code === 'ANSWER_LOST') return error.kind;
  // @ts-expect-error: there is no such kind
  if (error.kind === 'temporary') return error.kind;
  // @ts-expect-error: errors are immutable
  error.code = 'INTERNAL';
  return 'permanent';
}

export function helix(): Snapshotter {
  new CloudflareSandboxSnapshotter(client, { sandboxId: 'x', dir: '/app' });
  // @ts-expect-error: neither a sandbox nor a workspace
  new CloudflareSandboxSnapshotter(client, { name: 'n' });
  return new CloudflareSandboxSnapshotter(client, { workspace: 'n' });
}

/** The tools have the types of the packages of model APIs. */
export async function models(
  message: OpenAI.Chat.ChatCompletionMessage,
  response: OpenAI.Responses.Response,
  reply: Anthropic.Message,
) {
  const toolset = await client.toolset({ workspaces: [{ name: 'code', snapshot: true, sandboxId: 'x' }] });
  const ai: ToolSet = toolset.forAiSdk(jsonSchema);
  const { chat, responses } = toolset.forOpenAI();
  const chatTools: OpenAI.Chat.ChatCompletionTool[] = chat.tools;
  const messages: OpenAI.Chat.ChatCompletionMessageParam[] = await chat.answer(message.tool_calls);
  const responseTools: OpenAI.Responses.Tool[] = responses.tools;
  const input: OpenAI.Responses.ResponseInputItem[] = await responses.answer(response.output);
  const anthropic = toolset.forAnthropic();
  const anthropicTools: Anthropic.Tool[] = anthropic.tools;
  const results: Anthropic.ToolResultBlockParam[] = await anthropic.answer(reply.content);
  // @ts-expect-error: a workspace is declared by an object
  await client.toolset({ workspaces: ['code'] });
  return { ai, chatTools, messages, responseTools, input, anthropicTools, results };
}

export async function bindings(env: { SNAPSHOTTER: SnapshotterBinding }) {
  const taken = await env.SNAPSHOTTER.snapshot({ sandboxId: 'x' });
  same<typeof taken, Answer<'snapshot'>>();
  const { workspaces } = env.SNAPSHOTTER;
  const started = await workspaces.start({ name: 'n', signal: new AbortController().signal });
  same<typeof started, Answer<'workspaces/start'>>();
  await env.SNAPSHOTTER['workspaces/start']({ name: 'n' });
  // @ts-expect-error: an option of another operation
  await env.SNAPSHOTTER.snapshot({ sandboxId: 'n', idleSeconds: 1 });
  // @ts-expect-error: not an operation
  await workspaces.rename({ name: 'n' });
}
