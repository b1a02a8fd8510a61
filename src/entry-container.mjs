// The module that wrangler deploys if this Worker exports no class of the Sandbox SDK 0.12, which it leaves out.

export { SnapshotSandbox } from '../client/src/container/index.ts';
export * from './worker.mjs';
export { default } from './worker.mjs';
